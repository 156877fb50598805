//! TCP ports something listens on, read from the kernel's tables. Programs of other users count too: what an agent
//! wants to know is which ports it cannot take.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// State `TCP_LISTEN` in the kernel's tables.
const LISTEN: &str = "0A";
/// The module by which Jupyter starts a Python kernel.
const KERNEL: &str = "ipykernel_launcher";
/// What Node calls the thread that a process is named after.
const NODE_THREAD: &str = "MainThread";

/// Something that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) port: u16,
    pub(crate) address: IpAddr,
    /// The kernel's number of the socket.
    pub(crate) inode: u64,
}

/// The process behind a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: i32,
    pub(crate) name: String,
    /// Whether it is a Jupyter kernel: its ports are for its client alone, and speak no HTTP.
    pub(crate) kernel: bool,
}

impl Owner {
    fn of(pid: i32, process: &Path) -> Self {
        let read = |name| std::fs::read_to_string(process.join(name)).unwrap_or_default();
        let kernel = read("cmdline").split('\0').any(|argument| argument == KERNEL);
        Self { pid, name: name(process, read("comm").trim_end()), kernel }
    }
}

/// What people call a process. Node gives its main thread a name that says nothing of the program.
fn name(process: &Path, thread: &str) -> String {
    let program = std::fs::read_link(process.join("exe")).ok();
    let program = program.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    match program {
        Some(program) if thread == NODE_THREAD => program.to_owned(),
        _ => thread.to_owned(),
    }
}

/// The ports in rising order. Blocks on `/proc`.
pub(crate) fn occupied() -> Vec<String> {
    let ports: BTreeSet<_> = all().iter().map(|listener| listener.port).collect();
    ports.iter().map(ToString::to_string).collect()
}

/// Everything that listens. Blocks on `/proc`.
pub(crate) fn all() -> Vec<Listener> {
    // Without IPv6 its table does not exist.
    let tables = TABLES.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    tables.iter().flat_map(|table| listening(table)).collect()
}

/// The processes that hold these: as far as this user may see them. Blocks on `/proc`.
pub(crate) fn owners<'a>(listeners: impl Iterator<Item = &'a Listener>) -> HashMap<u64, Owner> {
    let mut wanted: HashSet<u64> = listeners.map(|listener| listener.inode).collect();
    let mut owners = HashMap::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        if wanted.is_empty() {
            break;
        }
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        for inode in sockets(&process.path()) {
            if wanted.remove(&inode) {
                owners.insert(inode, Owner::of(pid, &process.path()));
            }
        }
    }
    owners
}

/// The sockets a process holds.
fn sockets(process: &Path) -> impl Iterator<Item = u64> {
    let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files.filter_map(|file| {
        let target = std::fs::read_link(file.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

fn listening(table: &str) -> impl Iterator<Item = Listener> {
    table.lines().skip(1).filter_map(|line| {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        let (address, port) = columns.get(1)?.rsplit_once(':')?;
        let (state, inode) = (columns.get(3)?, columns.get(9)?);
        (*state == LISTEN).then_some(())?;
        Some(Listener {
            port: u16::from_str_radix(port, 16).ok()?,
            address: read_address(address)?,
            inode: inode.parse().ok()?,
        })
    })
}

/// An address as the kernel prints it: each word of four bytes as a number of this machine's own order.
fn read_address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    if text.len() == 8 {
        return word(0).map(|bytes| Ipv4Addr::from(bytes).into());
    }
    let words = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
    let bytes: [u8; 16] = words.try_into().ok()?;
    Some(Ipv6Addr::from(bytes).to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1\n\
             1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000 0 0 2\n\
             broken line\n";
        let found: Vec<_> = listening(table).collect();
        let address = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(found, [Listener { port: 8080, address, inode: 1 }]);
    }

    #[test]
    fn addresses_are_read_as_the_kernel_prints_them() {
        for (text, address) in [
            ("00000000", "0.0.0.0"),
            ("0100007F", "127.0.0.1"),
            ("00000000000000000000000000000000", "::"),
            ("00000000000000000000000001000000", "::1"),
            ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ] {
            assert_eq!(read_address(text), address.parse().ok(), "{text}");
        }
        for wrong in ["", "0100007", "zz00007F", "0100007F0100007F"] {
            assert_eq!(read_address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_real_listener_is_seen_with_whoever_holds_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(occupied().contains(&port.to_string()));
        let found: Vec<_> = all().into_iter().filter(|found| found.port == port).collect();
        let owners = owners(found.iter());
        let owner = &owners[&found[0].inode];
        assert_eq!(u32::try_from(owner.pid).unwrap(), std::process::id());
        assert!(!owner.name.is_empty() && !owner.kernel);
    }

    #[test]
    fn a_program_is_named_by_its_file_where_its_thread_says_nothing() {
        let own = Path::new("/proc/self");
        let program = std::env::current_exe().unwrap();
        assert_eq!(name(own, NODE_THREAD), program.file_name().unwrap().to_str().unwrap());
        assert_eq!(name(own, "app.py"), "app.py");
        assert_eq!(name(Path::new("/nowhere"), NODE_THREAD), NODE_THREAD);
    }

    #[test]
    fn ports_come_in_rising_order() {
        let ports: Vec<u16> = occupied().iter().map(|port| port.parse().unwrap()).collect();
        assert!(ports.is_sorted_by(|one, next| one < next));
    }
}
