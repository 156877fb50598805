//! The command line.

use std::path::Path;

use crate::options::Options;

/// Nothing the browser does of its own accord shall leave the machine, ask a question or take time.
const QUIET: &[&str] = &[
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-back-forward-cache",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-field-trial-config",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-search-engine-choice-screen",
    "--disable-prompt-on-repost",
    "--disable-infobars",
    "--hide-crash-restore-bubble",
    "--metrics-recording-only",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    "--export-tagged-pdf",
    "--force-color-profile=srgb",
    "--allow-pre-commit-input",
];

/// What asks its maker's servers in spite of all that is sent where nothing listens. These are the program's own
/// questions; pages of the same hosts open as ever.
const NOWHERE: &[&str] =
    &["--component-updater=url-source=http://127.0.0.1:9/", "--gaia-url=http://127.0.0.1:9/"];

/// A tab nobody looks at works like the one in front: agents use many at once.
const AWAKE: &[&str] = &[
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
];

/// Parts that talk to services, guess what comes next, or change pages.
const DISABLED_FEATURES: &[&str] = &[
    "AcceptCHFrame",
    "AutofillServerCommunication",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "CertificateTransparencyComponentUpdater",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationGuideModelDownloading",
    "OptimizationHints",
    "PaintHolding",
    "Prerender2",
    "RenderDocument",
    "SegmentationPlatform",
    "Translate",
];

/// Below this, shared memory is too small for large pages and ordinary files take its place.
const SHARED_MEMORY_BYTES: u64 = 512 << 20;

/// The arguments for these options.
pub(super) fn arguments(options: &Options, sandbox: bool) -> Vec<String> {
    let mut arguments: Vec<String> =
        QUIET.iter().chain(NOWHERE).chain(AWAKE).map(|&flag| flag.to_owned()).collect();
    arguments.push("--remote-debugging-port=0".to_owned());
    arguments.push(format!("--user-data-dir={}", options.user_data.display()));
    let (width, height) = options.window;
    arguments.push(format!("--window-size={width},{height}"));
    if options.display.is_none() {
        arguments.push("--headless=new".to_owned());
        arguments.push("--hide-scrollbars".to_owned());
        arguments.push("--mute-audio".to_owned());
    } else {
        arguments.push("--window-position=0,0".to_owned());
        arguments.push("--start-maximized".to_owned());
        arguments.push("--ozone-platform=x11".to_owned());
    }
    if !sandbox {
        arguments.push("--no-sandbox".to_owned());
        // It would be shown as a bar above every page.
        arguments.push("--test-type".to_owned());
    }
    if shared_memory() < SHARED_MEMORY_BYTES {
        arguments.push("--disable-dev-shm-usage".to_owned());
    }
    if let Some(locale) = &options.locale {
        arguments.push(format!("--lang={locale}"));
        arguments.push(format!("--accept-lang={locale}"));
    }
    if let Some(agent) = &options.user_agent {
        arguments.push(format!("--user-agent={agent}"));
    }
    let (features, others): (Vec<_>, Vec<_>) =
        options.extra_arguments.iter().partition(|argument| argument.starts_with(FEATURES));
    let mut disabled: Vec<&str> = DISABLED_FEATURES.to_vec();
    // Chromium obeys only the last list.
    disabled.extend(features.iter().filter_map(|argument| argument.strip_prefix(FEATURES)));
    arguments.push(format!("{FEATURES}{}", disabled.join(",")));
    arguments.extend(others.into_iter().cloned());
    arguments.push(options.homepage.clone().unwrap_or_else(|| "about:blank".to_owned()));
    arguments
}

const FEATURES: &str = "--disable-features=";

fn shared_memory() -> u64 {
    rustix::fs::statvfs(Path::new("/dev/shm")).map_or(0, |space| space.f_bavail * space.f_frsize)
}
