//! What the server, the spawner and a keeper say to each other.
//!
//! Server to any waiting keeper: one sequenced packet per command with the keeper's control socket and the command's
//! standard streams attached; a request too long for a packet travels in an attached memory file. Server to keeper and
//! back: small frames on the control socket. End of file on it is the last word of both: to a keeper it means "end
//! everything", to the server "nothing is left".

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use super::tree::ProcessKey;
use crate::confinement::Confinement;

/// Longest request that travels inside its packet.
pub(crate) const INLINE_REQUEST: usize = 64 << 10;

/// A command to start, as it travels: strings as the kernel wants them, each ended by a NUL, so that a keeper need only
/// point at them.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Whether standard input is a terminal that the command shall control.
    pub(crate) terminal: bool,
    /// How much it may use.
    pub(crate) confinement: Confinement,
    /// Where to start it.
    pub(crate) directory: &'a CStr,
    /// Program and arguments.
    pub(crate) argv: Vec<&'a CStr>,
    /// The whole environment, `NAME=value`.
    pub(crate) env: Vec<&'a CStr>,
}

/// Bytes before the strings: whether there is a terminal, how many arguments there are, the confinement.
const REQUEST_HEAD: usize = 5 + Confinement::SIZE;

impl<'a> Request<'a> {
    /// Writes a request; a string that holds a NUL cannot travel.
    pub(crate) fn encode(
        terminal: bool,
        confinement: Confinement,
        directory: &str,
        argv: &[&str],
        env: &BTreeMap<String, String>,
    ) -> io::Result<Vec<u8>> {
        let count = i32::try_from(argv.len()).unwrap_or(i32::MAX);
        let mut bytes = vec![u8::from(terminal)];
        bytes.extend(count.to_ne_bytes());
        bytes.extend(confinement.encode());
        let strings =
            [directory].into_iter().chain(argv.iter().copied()).map(|text| [text, "", ""]);
        let variables = env.iter().map(|(name, value)| [name.as_str(), "=", value.as_str()]);
        for parts in strings.chain(variables) {
            for part in parts {
                if memchr::memchr(0, part.as_bytes()).is_some() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "a NUL in a command"));
                }
                bytes.extend_from_slice(part.as_bytes());
            }
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Reads a request.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (head, strings) = bytes.split_at_checked(REQUEST_HEAD)?;
        let confinement = Confinement::decode(head.get(5..)?);
        let mut strings = strings.split_inclusive(|byte| *byte == 0).map(CStr::from_bytes_with_nul);
        let directory = strings.next()?.ok()?;
        let count = usize::try_from(number_at(head, 1)).ok()?;
        let argv = strings.by_ref().take(count).collect::<Result<Vec<_>, _>>().ok()?;
        let env = strings.collect::<Result<Vec<_>, _>>().ok()?;
        let terminal = *head.first()? != 0;
        let whole = argv.len() == count;
        whole.then_some(Self { terminal, confinement, directory, argv, env })
    }
}

/// What a keeper reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs under this pid, below this keeper.
    Started { keeper: i32, pid: i32 },
    /// The command could not be started: step and errno.
    Failed { step: Step, errno: i32 },
    /// The command ended: raw wait status, and how many of its processes were killed because memory ran out.
    Exited { status: i32, victims: i32 },
    /// A [`Order::Kill`] has been carried out.
    Killed,
    /// The answer to [`Order::CountVictims`].
    Victims { count: i32 },
}

/// The step at which starting a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Making a process.
    Fork,
    /// Bounding what it may use.
    Confine,
    /// Taking the terminal and the standard streams.
    Streams,
    /// Changing to the directory.
    Directory,
    /// Running the program.
    Execute,
}

const STEPS: [Step; 5] = [Step::Fork, Step::Confine, Step::Streams, Step::Directory, Step::Execute];

impl Step {
    pub(crate) fn number(self) -> i32 {
        STEPS.iter().position(|step| *step == self).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
    }

    pub(crate) fn from_number(number: i32) -> Self {
        usize::try_from(number).ok().and_then(|n| STEPS.get(n)).copied().unwrap_or(Step::Fork)
    }
}

impl Report {
    /// Bytes of a report.
    pub(crate) const SIZE: usize = 9;

    pub(crate) fn encode(self) -> [u8; Self::SIZE] {
        let (tag, first, second) = match self {
            Report::Started { keeper, pid } => (1, keeper, pid),
            Report::Failed { step, errno } => (2, step.number(), errno),
            Report::Exited { status, victims } => (3, status, victims),
            Report::Killed => (4, 0, 0),
            Report::Victims { count } => (5, count, 0),
        };
        let mut bytes = [0; Self::SIZE];
        bytes[0] = tag;
        bytes[1..5].copy_from_slice(&first.to_ne_bytes());
        bytes[5..9].copy_from_slice(&second.to_ne_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: [u8; Self::SIZE]) -> io::Result<Self> {
        let (first, second) = (number_at(&bytes, 1), number_at(&bytes, 5));
        match bytes[0] {
            1 => Ok(Report::Started { keeper: first, pid: second }),
            2 => Ok(Report::Failed { step: Step::from_number(first), errno: second }),
            3 => Ok(Report::Exited { status: first, victims: second }),
            4 => Ok(Report::Killed),
            5 => Ok(Report::Victims { count: first }),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "unknown report from a keeper")),
        }
    }
}

/// What a keeper is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Signal the command's process group.
    SignalGroup(i32),
    /// Signal every descendant.
    SignalTree(i32),
    /// Kill every descendant for good; with `keep_command` not the command itself, nor the spared and theirs.
    Kill { keep_command: bool, spare: Vec<ProcessKey> },
    /// Tell how many of the command's processes were killed because memory ran out.
    CountVictims,
}

impl Order {
    /// Bytes of an order's head.
    pub(crate) const HEAD: usize = 9;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, value, spare): (u8, i32, &[ProcessKey]) = match self {
            Order::SignalGroup(signal) => (1, *signal, &[]),
            Order::SignalTree(signal) => (2, *signal, &[]),
            Order::Kill { keep_command, spare } => (3, i32::from(*keep_command), spare),
            Order::CountVictims => (4, 0, &[]),
        };
        let mut bytes = vec![tag];
        bytes.extend(value.to_ne_bytes());
        bytes.extend(i32::try_from(spare.len()).unwrap_or(0).to_ne_bytes());
        for process in spare {
            bytes.extend(process.pid.to_ne_bytes());
            bytes.extend(process.started.to_ne_bytes());
        }
        bytes
    }

    /// Reads one order; `Ok(None)` at the end.
    pub(crate) fn read(source: &mut impl io::Read) -> io::Result<Option<Self>> {
        let mut head = [0; Self::HEAD];
        match source.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let (value, count) = (number_at(&head, 1), number_at(&head, 5));
        let mut spare = Vec::new();
        for _ in 0..count {
            let mut pid = [0; 4];
            let mut started = [0; 8];
            source.read_exact(&mut pid)?;
            source.read_exact(&mut started)?;
            spare.push(ProcessKey {
                pid: i32::from_ne_bytes(pid),
                started: u64::from_ne_bytes(started),
            });
        }
        match head[0] {
            1 => Ok(Some(Order::SignalGroup(value))),
            2 => Ok(Some(Order::SignalTree(value))),
            3 => Ok(Some(Order::Kill { keep_command: value != 0, spare })),
            4 => Ok(Some(Order::CountVictims)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "unknown order to a keeper")),
        }
    }
}

/// The integer at a position of a frame.
pub(crate) fn number_at(bytes: &[u8], position: usize) -> i32 {
    let mut number = [0; 4];
    for (to, from) in number.iter_mut().zip(bytes.iter().skip(position)) {
        *to = *from;
    }
    i32::from_ne_bytes(number)
}

/// The long integer at a position of a frame.
pub(crate) fn long_at(bytes: &[u8], position: usize) -> u64 {
    let mut number = [0; 8];
    for (to, from) in number.iter_mut().zip(bytes.iter().skip(position)) {
        *to = *from;
    }
    u64::from_ne_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire_and_garbage_does_not() {
        let env =
            BTreeMap::from([("A".to_owned(), "1=2".to_owned()), ("B".to_owned(), String::new())]);
        let confinement =
            Confinement { memory_bytes: Some(7), processes: None, open_files: Some(9) };
        let bytes = Request::encode(true, confinement, "/tmp", &["/bin/x", "", "é"], &env).unwrap();
        let request = Request::decode(&bytes).unwrap();
        assert!(request.terminal);
        assert_eq!(request.confinement, confinement);
        assert_eq!(request.directory, c"/tmp");
        assert_eq!(request.argv, [c"/bin/x", c"", c"é"]);
        assert_eq!(request.env, [c"A=1=2", c"B="]);
        assert!(Request::encode(false, confinement, "/", &["a\0b"], &env).is_err());
        for length in 0..bytes.len() {
            // Whatever is read of a cut request, reading it must not fail otherwise than by saying so.
            let _cut = Request::decode(&bytes[..length]);
        }
        assert!(
            Request::decode(b"").is_none()
                && Request::decode(&[&[0, 255, 0, 0, 0][..], &[0; 24], b"/\0"].concat()).is_none()
        );
    }

    #[test]
    fn reports_and_orders_survive_the_wire() {
        for report in [
            Report::Started { keeper: 7, pid: 8 },
            Report::Failed { step: Step::Directory, errno: 2 },
            Report::Exited { status: 256, victims: 2 },
            Report::Killed,
            Report::Victims { count: 3 },
        ] {
            assert_eq!(Report::decode(report.encode()).unwrap(), report);
        }
        for order in [
            Order::SignalGroup(15),
            Order::SignalTree(2),
            Order::CountVictims,
            Order::Kill { keep_command: true, spare: vec![ProcessKey { pid: 5, started: 99 }] },
        ] {
            let bytes = order.encode();
            assert_eq!(Order::read(&mut bytes.as_slice()).unwrap(), Some(order));
        }
        assert_eq!(Order::read(&mut [].as_slice()).unwrap(), None);
    }
}
