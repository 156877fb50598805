//! A look at this moment.

use std::time::Duration;

use atoll_api::observe::{
    LookAtSandbox, ObservationCgroupSnapshot, ObservationDiskSnapshot, ObservationEvent,
    ObservationLiveSnapshot, ObservationMode, ObservationProcessSnapshot,
};
use atoll_observe::{DiskReading, Event, ProcessRow, Sample, Sampler, Scope};
use atoll_operation::{Context, Error, Handle};
use tokio::time::sleep;

use super::service::Observers;

/// Rates are told over at least this long: the kernel counts in hundredths of a second.
const LEAST: Duration = Duration::from_millis(200);
/// And over at most this long, or they would tell of the past.
const MOST: Duration = Duration::from_secs(15);
/// Events that are told.
const EVENTS: usize = 50;

impl Observers {
    /// Looks now, with rates since a moment ago.
    pub(super) async fn look(&self, processes: usize) -> Result<Sample, Error> {
        let mut held = self.live.lock().await;
        let mut sampler = held.take().unwrap_or_else(|| self.sampler());
        // One row is enough to count what every process has used.
        if sampler.age().is_none_or(|age| age > MOST) {
            sampler = self.once(sampler, 1).await?.0;
        }
        let age = sampler.age().unwrap_or_default();
        sleep(LEAST.saturating_sub(age)).await;
        let (sampler, sample) = self.once(sampler, processes).await?;
        *held = Some(sampler);
        Ok(sample)
    }

    async fn once(
        &self,
        mut sampler: Sampler,
        processes: usize,
    ) -> Result<(Sampler, Sample), Error> {
        let killed = self.programs.spawner().victims();
        let look = tokio::task::spawn_blocking(move || {
            let sample = sampler.look(Scope { disks: true, processes }, killed);
            (sampler, sample)
        });
        look.await.map_err(|error| Error::internal("the sandbox could not be looked at", error))
    }
}

impl Handle<LookAtSandbox> for Observers {
    async fn handle(
        &self,
        _: &Context,
        input: LookAtSandbox,
    ) -> Result<ObservationLiveSnapshot, Error> {
        let rows = usize::try_from(input.top_rows).unwrap_or(usize::MAX);
        let mut sample = self.look(rows.max(1)).await?;
        sample.processes.truncate(rows);
        let mode = self.active().map_or(ObservationMode::Off, |session| session.mode());
        Ok(ObservationLiveSnapshot {
            captured_at: sample.at.clone(),
            mode,
            cgroup: group(&sample),
            disk: sample.disks.into_iter().map(disk).collect(),
            top_processes: sample.processes.into_iter().map(process).collect(),
            recent_events: self.journal.recent(EVENTS).into_iter().map(event).collect(),
        })
    }
}

fn group(sample: &Sample) -> ObservationCgroupSnapshot {
    let group = &sample.group;
    ObservationCgroupSnapshot {
        cpu_usage_pct: sample.cpu_pct,
        cpu_usage_usec: group.cpu_usage_usec,
        cpu_nr_periods: group.cpu_periods,
        cpu_nr_throttled: group.cpu_throttled,
        cpu_throttled_usec: group.cpu_throttled_usec,
        mem_current_bytes: group.memory_bytes,
        mem_max_bytes: group.memory_most_bytes,
        mem_usage_pct: sample.memory_pct,
        oom: group.out_of_memory,
        oom_kill: group.killed,
        memory_anon_bytes: group.anonymous_bytes,
        memory_file_bytes: group.file_bytes,
        memory_shmem_bytes: group.shared_bytes,
        memory_slab_bytes: group.slab_bytes,
    }
}

fn disk(disk: DiskReading) -> ObservationDiskSnapshot {
    ObservationDiskSnapshot {
        path: disk.path,
        used_bytes: disk.used_bytes,
        total_bytes: disk.total_bytes,
        free_bytes: disk.free_bytes,
        usage_pct: disk.usage_pct,
        inode_used: disk.inode_used,
        inode_total: disk.inode_total,
        inode_usage_pct: disk.inode_usage_pct,
    }
}

fn process(row: ProcessRow) -> ObservationProcessSnapshot {
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let mib = row.rss_bytes as f64 / f64::from(1 << 20);
    ObservationProcessSnapshot {
        pid: row.pid,
        user: row.user,
        comm: row.comm,
        rss_bytes: row.rss_bytes,
        rss_mib: (mib * 10.0).round() / 10.0,
        cpu_pct: row.cpu_pct,
        threads: Some(row.threads),
        fds: row.fds,
        state: Some(row.state),
        uptime_sec: Some(row.uptime_sec),
        ppid: Some(row.ppid),
    }
}

fn event(event: Event) -> ObservationEvent {
    ObservationEvent { ts: event.ts, kind: event.kind, message: event.message, data: event.data }
}
