//! A keeper: the parent of one command at a time. It starts it, reports its exit, and ends all its descendants when told
//! to or when the server is gone. Once nothing of a command is left it waits for the next.
//!
//! It is a fork of the single-threaded spawner, so it may allocate; the command's process shares its memory until
//! `exec`, so that nothing is copied, and in between nothing is allocated. Being a child subreaper it inherits every
//! orphan below it and reaps them all.

#![expect(unsafe_code, reason = "clone, exec and their surroundings have no safe interface")]

use std::ffi::CStr;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};

use super::pool::{Place, Pool};
use super::protocol::{INLINE_REQUEST, Order, Report, Request, Step};
use super::signals::SignalSource;
use super::tree;

/// Stack of a command's process until its `exec`.
const STACK: usize = 64 << 10;

/// The command's standard streams.
struct Streams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// Keeps one command after another until the server is gone or enough others wait. Runs in its own process.
pub(super) fn run(socket: &OwnedFd, pool: &Pool, place: Place) {
    // SAFETY: prctl with constant arguments.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"atoll-keeper".as_ptr());
    }
    let Ok(exits) = SignalSource::child_exits() else { return };
    let mut stack = vec![0; STACK];
    let mut packet = vec![0; INLINE_REQUEST];
    loop {
        let received = receive(socket, &mut packet);
        pool.taken(place);
        match received {
            Some(Received { length, long, control, streams }) => {
                let body = long.as_deref().or_else(|| packet.get(..length)).unwrap_or_default();
                // A request that makes no sense is answered by hanging up.
                if let Some(request) = Request::decode(body) {
                    keep(&request, control, streams, &exits, &mut stack);
                }
            }
            None => return pool.close(),
        }
        if !pool.wait_again(place) {
            return;
        }
    }
}

struct Received {
    /// Bytes of the packet, unless the request was too long for one.
    length: usize,
    long: Option<Vec<u8>>,
    control: OwnedFd,
    streams: Streams,
}

/// Waits for a command; `None` when the server is gone: what it sends always comes with descriptors.
fn receive(socket: &OwnedFd, packet: &mut [u8]) -> Option<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let into = &mut [IoSliceMut::new(packet)];
        match recvmsg(socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    };
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    let mut descriptors = descriptors.into_iter();
    let (control, stdin) = (descriptors.next()?, descriptors.next()?);
    let (stdout, stderr) = (descriptors.next()?, descriptors.next()?);
    let long = descriptors.next();
    let long =
        long.and_then(|long| std::fs::read(format!("/proc/self/fd/{}", long.as_raw_fd())).ok());
    let streams = Streams { stdin, stdout, stderr };
    Some(Received { length: received.bytes, long, control, streams })
}

/// Starts a command and keeps it until nothing of it is left.
fn keep(
    request: &Request<'_>,
    control: OwnedFd,
    streams: Streams,
    exits: &SignalSource,
    stack: &mut [u8],
) {
    let control = UnixStream::from(control);
    let started = start(request, &streams, stack);
    drop(streams);
    let keeper = own_pid();
    let mut reaper = Reaper { command: 0, control: &control, reported: false, left: true };
    match started {
        Ok(pid) => reaper.command = pid,
        Err((step, errno)) => {
            return reaper.report(Report::Failed { step, errno });
        }
    }
    let command = reaper.command;
    reaper.report(Report::Started { keeper, pid: command });
    while reaper.left {
        let ready = exits.wait_with(control.as_raw_fd());
        if ready.signal {
            // The command's end is reported first, for somebody waits for it; who ended meanwhile is collected after.
            reaper.collect();
            exits.clear();
            reaper.collect();
        }
        if reaper.left && ready.other && !obey(keeper, &mut reaper) {
            // The line was closed: the command is not wanted any more. One that cannot be killed now is waited for.
            loop {
                tree::kill_all(keeper, &[], None, || reaper.collect());
                reaper.collect();
                if !reaper.left {
                    return;
                }
                exits.wait();
            }
        }
    }
}

/// Carries out one order; false when the line was closed.
fn obey(keeper: i32, reaper: &mut Reaper<'_>) -> bool {
    let command = reaper.command;
    match Order::read(&mut reaper.control) {
        Ok(Some(Order::SignalGroup(signal))) => {
            let in_group = |pid| process_group(pid) == command;
            signal_group(keeper, reaper, signal, in_group);
        }
        Ok(Some(Order::SignalTree(signal))) => signal_group(keeper, reaper, signal, |_| true),
        Ok(Some(Order::Kill { keep_command, spare })) => {
            let through = keep_command.then_some(command);
            tree::kill_all(keeper, &spare, through, || reaper.collect());
            reaper.collect();
            reaper.report(Report::Killed);
        }
        Ok(None) | Err(_) => return false,
    }
    true
}

/// Signals the command's group at once, then each descendant outside it that is wanted. Once the command is buried, its
/// number may be that of a stranger's group: then each descendant is signalled by itself.
fn signal_group(keeper: i32, reaper: &Reaper<'_>, signal: i32, wanted: impl Fn(i32) -> bool) {
    let command = reaper.command;
    if !reaper.reported {
        tree::send(-command, signal);
    }
    let outside_group: Vec<_> = tree::descendants(keeper, &[], None)
        .into_iter()
        .filter(|process| wanted(process.pid))
        .filter(|process| reaper.reported || process_group(process.pid) != command)
        .collect();
    tree::signal(&outside_group, signal);
}

/// Collects dead children: the command, whose status is reported, and orphans, who are only buried.
struct Reaper<'a> {
    command: i32,
    control: &'a UnixStream,
    reported: bool,
    left: bool,
}

impl Reaper<'_> {
    fn collect(&mut self) {
        if !self.reported
            && let Some(status) = ended(self.command)
        {
            // Reported before it is buried, which takes a while: somebody waits for it.
            self.reported = true;
            self.report(Report::Exited { status });
        }
        loop {
            let mut status = 0;
            // SAFETY: waitpid writes the status into the integer it is given.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                pid if pid == self.command && !self.reported => {
                    self.reported = true;
                    self.report(Report::Exited { status });
                }
                pid if pid > 0 => {}
                // Zero: children live on. Less: there are none, and the command was one of them.
                none => {
                    self.left = none == 0;
                    return;
                }
            }
        }
    }

    fn report(&self, report: Report) {
        let _server_gone = send(self.control, &report.encode(), SendFlags::NOSIGNAL);
    }
}

/// The wait status of a child that has ended and is not buried yet.
fn ended(pid: i32) -> Option<i32> {
    // SAFETY: waitid writes into the structure it is given, which zeros make valid, and says in it whether it did.
    let (found, code, status) = unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let id = libc::id_t::try_from(pid).ok()?;
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let result = libc::waitid(libc::P_PID, id, &raw mut information, flags);
        (result == 0 && information.si_pid() == pid, information.si_code, information.si_status())
    };
    let status = if code == libc::CLD_EXITED { (status & 0xff) << 8 } else { status };
    found.then_some(status)
}

fn start(request: &Request<'_>, streams: &Streams, stack: &mut [u8]) -> Result<i32, (Step, i32)> {
    let pointers = |strings: &[&CStr]| {
        let mut list: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        list.push(std::ptr::null());
        list
    };
    let (argv, env) = (pointers(&request.argv), pointers(&request.env));
    let program = request.argv.first().ok_or((Step::Execute, libc::EINVAL))?;
    let mut prepared = Prepared {
        program: program.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        directory: request.directory.as_ptr(),
        streams: [
            streams.stdin.as_raw_fd(),
            streams.stdout.as_raw_fd(),
            streams.stderr.as_raw_fd(),
        ],
        terminal: request.terminal,
        keeper: own_pid(),
        failure: None,
    };
    // SAFETY: the child runs on a stack of its own, whose end is aligned down to 16 bytes; this process, which is
    // single-threaded, stands still until the child has called exec or ended, so everything it is given stays valid.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end;
        let top = top.sub(top.addr() % 16);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(become_command, top.cast(), flags, (&raw mut prepared).cast())
    };
    if pid < 0 {
        return Err((Step::Fork, last_errno()));
    }
    match prepared.failure {
        None => Ok(pid),
        Some(failure) => {
            // SAFETY: the child has said its last word and ends.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
            Err(failure)
        }
    }
}

/// Everything the child needs until exec, ready to use without allocating, and where it says why there was none.
struct Prepared {
    program: *const libc::c_char,
    argv: *const *const libc::c_char,
    env: *const *const libc::c_char,
    directory: *const libc::c_char,
    streams: [RawFd; 3],
    terminal: bool,
    keeper: i32,
    failure: Option<(Step, i32)>,
}

/// Turns the fresh process into the command; returns only to end it.
extern "C" fn become_command(prepared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` passes its own `Prepared` and does not touch it until this process is gone from its memory.
    let prepared = unsafe { &mut *prepared.cast::<Prepared>() };
    let step = prepared.execute();
    prepared.failure = Some((step, last_errno()));
    127
}

impl Prepared {
    /// The step that failed; none if it returns.
    fn execute(&self) -> Step {
        // SAFETY: plain system calls on owned descriptors and pointers that are valid, see `start`. Signal handlers and
        // descriptors are this process's own, and are not those of the keeper.
        unsafe {
            // Should the keeper be killed, the command must not outlive it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != self.keeper {
                return Step::Fork;
            }
            libc::setsid();
            // Descriptors 0 to 2 of a keeper are /dev/null, so no stream is overwritten by another's dup2.
            for (target, source) in [0, 1, 2].into_iter().zip(self.streams) {
                if libc::dup2(source, target) < 0 {
                    return Step::Streams;
                }
            }
            if self.terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Step::Streams;
            }
            if libc::chdir(self.directory) < 0 {
                return Step::Directory;
            }
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execve(self.program, self.argv, self.env);
            Step::Execute
        }
    }
}

fn own_pid() -> i32 {
    // SAFETY: getpid cannot fail.
    unsafe { libc::getpid() }
}

fn process_group(pid: i32) -> i32 {
    // SAFETY: getpgid reads an integer.
    unsafe { libc::getpgid(pid) }
}

fn last_errno() -> i32 {
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() }
}
