//! A keeper: the parent of one command at a time. It starts it, reports its exit, and ends all its descendants when told
//! to or when the server is gone. Once nothing of a command is left it waits for the next.
//!
//! It is a fork of the single-threaded spawner, so it may allocate. Being a child subreaper it inherits every orphan
//! below it and reaps them all. It stays outside its command's control groups, which it makes and removes.

#![expect(unsafe_code, reason = "waiting for any child and prctl have no safe interface")]

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};

use super::pool::{Place, Pool};
use super::protocol::{INLINE_REQUEST, Order, Report, Request, Step};
use super::signals::SignalSource;
use super::start::{Starter, Streams};
use super::{own_pid, tree};
use crate::cgroup::{Cell, Cgroups};
use crate::confinement::Confinement;

/// Keeps one command after another until the server is gone or enough others wait. Runs in its own process.
pub(super) fn run(socket: &OwnedFd, pool: &Pool, place: Place, groups: &Cgroups) {
    // SAFETY: prctl with constant arguments.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"atoll-keeper".as_ptr());
    }
    let Ok(exits) = SignalSource::child_exits() else { return };
    let mut house =
        House { starter: Starter::new(groups), groups, number: place.number(), cell: None };
    let mut packet = vec![0; INLINE_REQUEST];
    loop {
        let received = receive(socket, &mut packet);
        pool.taken(place);
        match received {
            Some(Received { length, long, control, streams }) => {
                let body = long.as_deref().or_else(|| packet.get(..length)).unwrap_or_default();
                // A request that makes no sense is answered by hanging up.
                if let Some(request) = Request::decode(body) {
                    keep(&request, control, streams, &exits, &mut house);
                    house.clean_up();
                }
            }
            None => return pool.close(),
        }
        if !pool.wait_again(place) {
            return;
        }
    }
}

/// What a keeper has for its commands.
struct House<'a> {
    starter: Starter<'a>,
    groups: &'a Cgroups,
    number: usize,
    /// The groups of the latest command, for the next.
    cell: Option<Cell>,
}

impl House<'_> {
    /// Starts a command. Groups that went away are made again.
    fn start(&mut self, request: &Request<'_>, streams: &Streams) -> Result<i32, (Step, i32)> {
        let mut again = true;
        loop {
            self.prepare(request.confinement)?;
            let cell = self.cell.as_ref().filter(|_| request.confinement.needs_group());
            match self.starter.start(request, streams, cell) {
                Err((Step::Confine, _)) if again && self.cell.is_some() => {
                    self.cell = None;
                    again = false;
                }
                started => return started,
            }
        }
    }

    /// Sees to it that there are groups for a command confined like this, if there can be any.
    fn prepare(&mut self, confinement: Confinement) -> Result<(), (Step, i32)> {
        let there = self.cell.as_ref().is_some_and(|cell| cell.confinement() == confinement);
        if there || !confinement.needs_group() {
            return Ok(());
        }
        // Removed first: the new ones have the same names.
        self.cell = None;
        let made = self.groups.cell(self.number, confinement);
        self.cell =
            Some(made.map_err(|error| (Step::Confine, error.raw_os_error().unwrap_or(libc::EIO)))?);
        Ok(())
    }

    /// Nothing of the command is left: its groups serve the next one, unless it would suffer from what was before.
    fn clean_up(&mut self) {
        if self.cell.as_ref().is_some_and(|cell| !cell.is_clean()) {
            self.cell = None;
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
    house: &mut House<'_>,
) {
    let control = UnixStream::from(control);
    let started = house.start(request, &streams);
    drop(streams);
    let keeper = own_pid();
    let cell = house.cell.as_ref().filter(|_| request.confinement.needs_group());
    let mut reaper = Reaper { command: 0, control: &control, cell, reported: false, left: true };
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
                reaper.kill_group();
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
            if !keep_command && spare.is_empty() {
                reaper.kill_group();
            }
            tree::kill_all(keeper, &spare, through, || reaper.collect());
            reaper.collect();
            reaper.report(Report::Killed);
        }
        Ok(Some(Order::CountVictims)) => {
            reaper.report(Report::Victims { count: reaper.victims() });
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
    cell: Option<&'a Cell>,
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
            self.report(Report::Exited { status, victims: self.victims() });
        }
        loop {
            let mut status = 0;
            // SAFETY: waitpid writes the status into the integer it is given.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                pid if pid == self.command && !self.reported => {
                    self.reported = true;
                    self.report(Report::Exited { status, victims: self.victims() });
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

    /// Processes of the command that were killed because memory ran out.
    fn victims(&self) -> i32 {
        self.cell.map_or(0, Cell::victims)
    }

    /// Kills all at once where the kernel can; whoever is left is found by looking.
    fn kill_group(&self) {
        if let Some(cell) = self.cell {
            cell.kill();
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

fn process_group(pid: i32) -> i32 {
    // SAFETY: getpgid reads an integer.
    unsafe { libc::getpgid(pid) }
}
