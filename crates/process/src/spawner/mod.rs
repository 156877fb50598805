//! Starting programs through a helper process.
//!
//! The server never forks. The spawner, a small process made from its own executable, keeps a few keepers waiting; a
//! request goes straight to one of them, which becomes the command's parent and subreaper. So exit codes cannot be
//! stolen by a reaper of orphans, nothing a command starts can slip away, and everything ends when the server does,
//! however it ends.

mod helper;
mod keeper;
mod pool;
mod protocol;
mod signals;
pub(crate) mod tree;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command as StdCommand, Stdio};
use std::sync::Arc;

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use crate::descriptor::Descriptor;

pub(crate) use protocol::{Order, Report, Request, Step};

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
        helper::serve(&socket);
    }
    std::process::exit(0)
}

/// The server's handle on its spawner. Cheap to clone; when the last clone is dropped, everything started ends.
#[derive(Debug, Clone)]
pub struct Spawner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: Descriptor,
    tasks: TaskTracker,
}

impl Spawner {
    /// Starts the spawner from this very program, whose `main` calls [`run_if_asked`]. Needs a tokio runtime.
    pub fn launch() -> io::Result<Self> {
        Self::launch_program(Path::new("/proc/self/exe"))
    }

    /// Starts the spawner from another program whose `main` calls [`run_if_asked`].
    pub fn launch_program(program: &Path) -> io::Result<Self> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        StdCommand::new(program)
            .arg(ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let socket = Descriptor::new(ours, Interest::WRITABLE)?;
        Ok(Self(Arc::new(Inner { socket, tasks: TaskTracker::new() })))
    }

    /// Tasks that serve the started programs.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
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
        self.0
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
