//! Starting programs through a helper process.
//!
//! The server never forks. The spawner, a small process made from its own executable, keeps a few keepers waiting; a
//! request goes straight to one of them, which becomes the command's parent and subreaper. So exit codes cannot be
//! stolen by a reaper of orphans, nothing a command starts can slip away, and everything ends when the server does,
//! however it ends.

mod birth;
mod helper;
mod keeper;
mod pool;
mod protocol;
mod signals;
mod start;
pub(crate) mod tree;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command as StdCommand, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use crate::cgroup::{Cgroups, Enforcement};
use crate::confinement::Confinement;
use crate::descriptor::Descriptor;
use crate::footprint::give_back_start;
use crate::oom;

pub(crate) use protocol::{Order, Report, Request, Step, long_at};

/// Argument that makes the program a spawner.
const ARGUMENT: &str = "__spawner";

/// Becomes the spawner, and never returns, if this process was started as one. Call it first in `main`.
pub fn run_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        run();
    }
}

#[expect(unsafe_code, reason = "the inherited descriptor must be taken by number")]
fn run() -> ! {
    // SAFETY: descriptor 0 is the socket this process was started with, and nothing else uses it.
    let inherited = unsafe { OwnedFd::from_raw_fd(0) };
    // Moved away from 0, which becomes /dev/null like 1 and 2: keepers rely on that.
    let socket = inherited.try_clone();
    drop(inherited);
    if let (Ok(socket), Ok(null)) =
        (socket, std::fs::OpenOptions::new().read(true).write(true).open("/dev/null"))
    {
        std::mem::forget(null);
        let groups = std::env::args().nth(2).unwrap_or_default();
        // It runs as well with what it has.
        let _given_back = give_back_start();
        helper::serve(&socket, &Cgroups::from_argument(&groups));
    }
    std::process::exit(0)
}

/// The server's handle on its spawner. Cheap to clone; when the last clone is dropped, everything started ends.
///
/// A handle bounds what is started through it; handles on one spawner may differ in that.
#[derive(Debug, Clone)]
pub struct Spawner {
    inner: Arc<Inner>,
    confinement: Confinement,
}

#[derive(Debug)]
struct Inner {
    socket: Descriptor,
    tasks: TaskTracker,
    enforcement: Enforcement,
    victims: Arc<AtomicU64>,
}

impl Spawner {
    /// Starts the spawner from this very program, whose `main` calls [`run_if_asked`], and has the kernel spare both when
    /// the machine runs out of memory. Needs a tokio runtime.
    pub fn launch() -> io::Result<Self> {
        oom::spare_server();
        Self::launch_program(Path::new("/proc/self/exe"))
    }

    /// Starts the spawner from another program whose `main` calls [`run_if_asked`].
    pub fn launch_program(program: &Path) -> io::Result<Self> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let groups = Cgroups::probe();
        StdCommand::new(program)
            .arg(ARGUMENT)
            .arg(groups.to_argument())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let socket = Descriptor::new(ours, Interest::WRITABLE)?;
        let (tasks, enforcement) = (TaskTracker::new(), groups.enforcement());
        let victims = Arc::default();
        let inner = Arc::new(Inner { socket, tasks, enforcement, victims });
        Ok(Self { inner, confinement: Confinement::default() })
    }

    /// The same spawner, bounding what is started through the new handle like this. A fresh spawner bounds nothing.
    #[must_use]
    pub fn confined(&self, confinement: Confinement) -> Self {
        Self { inner: Arc::clone(&self.inner), confinement }
    }

    /// How much what is started through this handle may use.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// By what means the bounds are kept here.
    pub fn enforcement(&self) -> Enforcement {
        self.inner.enforcement
    }

    /// Processes of all programs so far that were killed because memory ran out, as far as is known.
    pub fn victims(&self) -> u64 {
        self.inner.victims.load(Ordering::Relaxed)
    }

    /// Where they are counted. Apart from the handle: a counter must not keep what was started alive.
    pub(crate) fn victim_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.inner.victims)
    }

    /// Tasks that serve the started programs.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    /// Hands a command to the spawner; the returned socket is the line to its keeper.
    pub(crate) async fn send(
        &self,
        request: &[u8],
        streams: [BorrowedFd<'_>; 3],
    ) -> io::Result<UnixStream> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        let [stdin, stdout, stderr] = streams;
        let mut descriptors = vec![theirs.as_fd(), stdin, stdout, stderr];
        let memory;
        let packet: &[u8] = if request.len() <= INLINE_MAX {
            request
        } else {
            memory = in_memory(request)?;
            descriptors.push(memory.as_fd());
            b"-"
        };
        self.inner
            .socket
            .when_writable(|socket| {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
                Ok(sendmsg(socket, &[IoSlice::new(packet)], &mut ancillary, SendFlags::NOSIGNAL)?)
            })
            .await?;
        Ok(ours)
    }
}

const INLINE_MAX: usize = protocol::INLINE_REQUEST;

fn in_memory(body: &[u8]) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create("atoll-request", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut rest = body;
    while !rest.is_empty() {
        let count = rustix::io::write(&memory, rest)?;
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(memory)
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[expect(unsafe_code, reason = "between clone and exec nothing but errno tells what failed")]
fn last_errno() -> i32 {
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() }
}
