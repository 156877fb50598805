//! What asking for a credential costs: the same request to a server that asks nobody, and to one that asks everybody.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS};
use crate::server::{Server, locate};

/// What a credential may add to the median.
const BAR: Duration = Duration::from_micros(30);
/// What verifying a token nobody has seen before may add, at worst.
const NEW_TOKEN_BAR: Duration = Duration::from_millis(1);
/// Does next to nothing, so that what is added shows.
const PATH: &str = "/v1/limits";
const KEY: &str = "bench-key-0123456789abcdef0123456789abcdef";

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let directory = tempfile::tempdir()?;
    let key_file = directory.path().join("key");
    std::fs::write(&key_file, KEY)?;
    let signer = Signer::make(directory.path()).map_err(|error| error.to_string());
    let mut launch = setting.atoll.clone().with("--api-key-file").with(text(&key_file)?);
    if let Ok(signer) = &signer {
        launch = launch.with("--jwt-keys-file").with(text(&signer.public)?);
    }
    let (open, locked) = (setting.atoll.start()?, launch.start()?);
    if locked.connect()?.ask(&Request::get(PATH, ("accept", "*/*")))?.status != 401 {
        return Err("the server with credentials asks nobody".into());
    }

    let plan = setting.plan(50);
    let signer = || signer.as_ref().map_err(|why| Failure::from(why.as_str()));
    let mut lanes = [
        Lane::new("nobody is asked", again(&open, &Request::get(PATH, ("accept", "*/*")))?),
        Lane::new("API key", again(&locked, &Request::get(PATH, ("x-api-key", KEY)))?),
        Lane::prepared(
            "RS256 token",
            signer().and_then(|signer| again(&locked, &signer.request("bench")?)),
        ),
        Lane::prepared(
            "RS256 token, another each time",
            signer().and_then(|signer| each_new(&locked, signer, plan)),
        ),
    ];
    race(plan, &mut lanes);

    let nobody = lanes[0].result()?;
    let (base, worst) = (nobody.median(), nobody.percentile(99));
    let mut report = Report {
        title: "Asking for a credential",
        about: "`GET /v1/limits` on one keep-alive connection per row: to a server that asks nobody, and to one with an \
                API key and a public key for tokens. A token is verified once and then known by its hash until it \
                ends; in the last row each request brings one that was never seen before."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &lanes, base, base);
    for lane in &lanes[1..=2] {
        let text = format!("{}: p50 ≤ 30 µs more", lane.name);
        report.bars.push(match lane.result() {
            Ok(samples) => added(text, samples.median(), base, BAR),
            Err(why) => Bar::unknown(text, why.to_string()),
        });
    }
    let text = format!("{}: p99 ≤ 1 ms more", lanes[3].name);
    report.bars.push(match lanes[3].result() {
        Ok(samples) => added(text, samples.percentile(99), worst, NEW_TOKEN_BAR),
        Err(why) => Bar::unknown(text, why.to_string()),
    });
    Ok(report)
}

fn added(text: String, time: Duration, base: Duration, bar: Duration) -> Bar {
    let more = time.saturating_sub(base);
    Bar::new(text, format!("{} µs more", more.as_micros()), more <= bar)
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| "a temporary directory whose name is no text".into())
}

/// Sends one request, again and again.
fn again(
    server: &Server,
    request: &Request,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut connection = server.connect()?;
    let request = request.clone();
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        response.json::<Value>()?;
        Ok(duration)
    })
}

/// Sends as many requests as the plan has, each with a token of its own.
fn each_new(
    server: &Server,
    signer: &Signer,
    plan: Plan,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let count = plan.warm_ups + plan.rounds * plan.samples_per_round;
    let requests: Result<Vec<_>, Failure> =
        (0..count).map(|number| signer.request(&format!("bench-{number}"))).collect();
    let mut requests = requests?.into_iter();
    let mut connection = server.connect()?;
    Ok(move || {
        let request = requests.next().ok_or("no token is left")?;
        let (duration, response) = connection.time(&request)?;
        response.json::<Value>()?;
        Ok(duration)
    })
}

/// An RSA key of the bench's own, made and used by openssl.
struct Signer {
    openssl: String,
    private: PathBuf,
    public: PathBuf,
}

impl Signer {
    fn make(directory: &Path) -> Result<Self, Failure> {
        let signer = Self {
            openssl: locate("openssl")?,
            private: directory.join("private.pem"),
            public: directory.join("public.pem"),
        };
        let (private, public) = (text(&signer.private)?, text(&signer.public)?);
        let size = "rsa_keygen_bits:2048";
        signer.run(&["genpkey", "-algorithm", "RSA", "-pkeyopt", size, "-out", private], b"")?;
        signer.run(&["pkey", "-in", private, "-pubout", "-out", public], b"")?;
        Ok(signer)
    }

    /// The request with a token for this subject, good for an hour.
    fn request(&self, subject: &str) -> Result<Request, Failure> {
        let ends = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() + 3600;
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({"alg": "RS256", "typ": "JWT"}));
        let message = format!("{header}.{}", part(json!({"exp": ends, "sub": subject})));
        let sign = ["dgst", "-sha256", "-sign", text(&self.private)?];
        let signature = URL_SAFE_NO_PAD.encode(self.run(&sign, message.as_bytes())?);
        let bearer = format!("Bearer {message}.{signature}");
        Ok(Request::get(PATH, ("authorization", &bearer)))
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut command = Command::new(&self.openssl);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input)?;
        }
        let output = child.wait_with_output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(format!("openssl: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}
