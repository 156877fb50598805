//! The spawner alone, for this crate's tests: programs become their own spawner by the same call.

fn main() {
    atoll_process::spawner::run_if_asked();
    eprintln!("atoll-desktop-spawner is started by a test, not by hand");
    std::process::exit(2);
}
