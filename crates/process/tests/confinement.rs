//! What a command may use, and what happens when it wants more.

mod common;

use std::path::{Path, PathBuf};

use atoll_process::{Confinement, Exit, Piped};
use common::{Bench, alive_with_marker, eventually, marker};

const MEMORY: u64 = 96 << 20;
/// Wants more memory than that, but never more than 400 MB, should nothing bound it.
const HOG: &str = "dd if=/dev/zero of=/dev/null bs=400M count=1";

fn confined(confinement: Confinement) -> Bench {
    let mut bench = Bench::new();
    bench.spawner = bench.spawner.confined(confinement);
    bench
}

fn with_memory() -> Bench {
    confined(Confinement { memory_bytes: Some(MEMORY), ..Confinement::default() })
}

fn said(piped: &Piped) -> (String, String) {
    (piped.stdout().read_text(0, 10_000).text, piped.stderr().read_text(0, 10_000).text)
}

/// Whether the number of processes is bounded here: as root only by a control group.
fn processes_are_bounded(bench: &Bench) -> bool {
    let root = rustix::process::geteuid().is_root();
    if root && !bench.spawner.enforcement().processes_by_group {
        eprintln!("no control group can be made here, and root may have any number of processes");
        return false;
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_wants_more_memory_is_killed_and_its_end_says_why() {
    let bench = with_memory();
    let piped = bench.bash(&format!("exec {HOG}")).await;
    let exit = piped.wait().await;
    if bench.spawner.enforcement().memory_by_group {
        assert_eq!(exit, Exit::OutOfMemory { limit: MEMORY });
        assert_eq!((exit.signed(), exit.shell_code()), (-9, 137));
        assert!(exit.to_string().contains("memory") && exit.to_string().contains("96 MiB"));
    } else {
        // It is refused memory instead, and says so itself.
        assert_eq!(exit, Exit::Code(1), "{:?}", said(&piped));
        assert!(said(&piped).1.contains("memory"), "{:?}", said(&piped));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_wants_more_memory_is_killed_and_the_command_lives_to_tell() {
    let bench = with_memory();
    let piped = bench.bash(&format!("{HOG}; echo alive; exit 5")).await;
    assert_eq!(piped.wait().await, Exit::Code(5));
    assert_eq!(said(&piped).0, "alive\n");
    let by_group = bench.spawner.enforcement().memory_by_group;
    assert_eq!(piped.child().starved(), by_group.then_some(MEMORY));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_command_ran_out_of_memory_the_next_starts_afresh() {
    let bench = with_memory();
    for _ in 0..3 {
        bench.bash(&format!("{HOG}; true")).await.wait().await;
        let piped = bench.bash("head -c 30000000 /dev/zero | tail -c 30000000 | wc -c").await;
        assert_eq!(piped.wait().await, Exit::Code(0));
        assert_eq!(said(&piped).0, "30000000\n");
        assert_eq!(piped.child().starved(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_a_command_left_in_memory_do_not_take_it_from_the_next() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("there is no /dev/shm here");
        return;
    };
    let bench = with_memory();
    for number in 0..4 {
        let file = directory.path().join(number.to_string());
        let piped = bench.bash(&format!("head -c 60000000 /dev/zero > {}", file.display())).await;
        assert_eq!(piped.wait().await, Exit::Code(0), "{number}: {:?}", said(&piped));
        assert_eq!(file.metadata().unwrap().len(), 60_000_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_bounded_while_others_go_on() {
    let bench = confined(Confinement { processes: Some(40), ..Confinement::default() });
    if !processes_are_bounded(&bench) {
        return;
    }
    if !bench.spawner.enforcement().processes_by_group {
        // Counted are all of this user's, of whom there may be more than that.
        let piped = bench.bash("ulimit -u").await;
        piped.wait().await;
        assert_eq!(said(&piped).0, "40\n");
        return;
    }
    let marker = marker();
    // No more than 200, should nothing bound it.
    let sleepers = format!("for i in $(seq 200); do sleep 1000.{marker} & done; echo all");
    let piped = bench.bash(&format!("sh -c '{sleepers}'; echo end; wait")).await;
    eventually("the end of forking", || said(&piped).0.contains("end")).await;
    let (stdout, stderr) = said(&piped);
    assert!(!stdout.contains("all") && stderr.to_lowercase().contains("fork"), "{stderr}");
    assert!(alive_with_marker(&marker).len() < 40);
    assert_eq!(bench.bash("(exit 3) | (exit 4)").await.wait().await, Exit::Code(4));
    piped.child().kill_all().await;
    assert_eq!(alive_with_marker(&marker), Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_contained_and_can_be_killed() {
    let bench = confined(Confinement { processes: Some(60), ..Confinement::default() });
    if !bench.spawner.enforcement().processes_by_group {
        eprintln!("no control group can be made here: nobody would contain it");
        return;
    }
    let marker = marker();
    // Proof that the bound holds before anything is let loose.
    let probe = bench.bash("sh -c 'for i in $(seq 90); do sleep 1000 & done; echo all'").await;
    probe.wait().await;
    assert_eq!(said(&probe).0, "");
    probe.child().kill_all().await;
    let bomb = format!("bomb() {{ bomb {marker} | bomb {marker} & }}; bomb; wait");
    let piped = bench.bash(&bomb).await;
    eventually("refused forks", || said(&piped).1.contains("Resource temporarily unavailable"))
        .await;
    assert!(alive_with_marker(&marker).len() <= 60);
    assert_eq!(bench.bash("(exit 3) | (exit 4)").await.wait().await, Exit::Code(4));
    piped.child().kill_all().await;
    assert_eq!(alive_with_marker(&marker), Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn open_files_are_bounded() {
    let bench = confined(Confinement { open_files: Some(50), ..Confinement::default() });
    let piped = bench.bash("ulimit -n; ulimit -Hn").await;
    piped.wait().await;
    assert_eq!(said(&piped).0, "50\n50\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_killed_before_the_server_when_the_machine_runs_out_of_memory() {
    let bench = Bench::new();
    let piped = bench.bash("cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj").await;
    piped.wait().await;
    let stdout = said(&piped).0;
    let scores: Vec<i32> = stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert!(scores[0] >= 300 && scores[1] < scores[0] || scores[0] == scores[1], "{scores:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_started_without_bounds_has_none() {
    let bench = with_memory();
    let free = bench.spawner.confined(Confinement::default());
    let piped = Piped::start(&free, &bench.command(HOG), &bench.settings()).await.unwrap();
    assert_eq!(piped.wait().await, Exit::Code(0));
}

/// Directories of the groups a process is in that are ours.
fn groups_in(membership: &str) -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let tops: Vec<_> = mounts
        .lines()
        .filter(|line| line.contains(" - cgroup"))
        .filter_map(|line| line.split(' ').nth(4))
        .collect();
    let paths: Vec<_> = membership
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .filter(|path| path.contains("/atoll-"))
        .collect();
    let all = tops.iter().flat_map(|top| {
        paths.iter().map(move |path| Path::new(top).join(path.trim_start_matches('/')))
    });
    all.filter(|path| path.exists()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_go_with_the_server_however_it_and_its_keepers_end() {
    let bench = confined(Confinement {
        memory_bytes: Some(MEMORY),
        processes: Some(100),
        open_files: None,
    });
    if !bench.spawner.enforcement().memory_by_group {
        eprintln!("no control group can be made here");
        return;
    }
    let marker = marker();
    let killed = bench.bash("cat /proc/self/cgroup; read line < fifo; kill -9 $PPID; wait").await;
    let kept = bench.bash(&format!("cat /proc/self/cgroup; sleep 1000.{marker}")).await;
    eventually("both", || said(&killed).0.contains("/atoll-") && said(&kept).0.contains("/atoll-"))
        .await;
    let (of_killed, of_kept) = (groups_in(&said(&killed).0), groups_in(&said(&kept).0));
    assert!(!of_killed.is_empty() && !of_kept.is_empty());
    assert!(of_killed.iter().all(|group| !of_kept.contains(group)), "each has its own");
    std::fs::write(bench.path("fifo"), "go\n").unwrap();
    assert_eq!(killed.wait().await, Exit::Lost);
    eventually("no group of the killed keeper", || !of_killed.iter().any(|path| path.exists()))
        .await;
    drop((kept, killed));
    drop(bench);
    eventually("no group", || !of_kept.iter().any(|path| path.exists())).await;
    assert_eq!(alive_with_marker(&marker), Vec::<i32>::new());
}
