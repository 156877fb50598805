//! What may be reached, and the log of what was not.

use atoll_egress::{Policy, Way};

use crate::scene::{Scene, Site, echo};

#[tokio::test]
async fn metadata_is_refused_whichever_way_it_is_asked_for_and_written_down() {
    let scene = Scene::new();
    for target in [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "metadata.google.internal",
    ] {
        let answer = scene.get(&format!("http://{target}/latest/meta-data/")).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{target}: {answer}");
        let (head, _) = scene.connect(&format!("{target}:80")).await;
        assert!(head.starts_with("HTTP/1.1 403") && head.contains("refused"), "{target}: {head}");
    }
    scene.egress.add_mapping("innocent.test", "169.254.169.254:80").unwrap();
    assert!(scene.get("http://innocent.test/").await.starts_with("HTTP/1.1 403"));
    let (latest, total) = scene.egress.refusals(2);
    assert_eq!((latest.len(), total), (2, 9));
    assert_eq!((latest[0].host.as_str(), latest[0].way), ("169.254.169.254", Way::Http));
    assert!(latest[0].reason.contains("metadata"), "{latest:?}");
}

#[tokio::test]
async fn ports_of_the_server_itself_are_refused_and_others_of_this_machine_are_not() {
    let scene = Scene::new();
    let (own, other) = (Site::saying("secret").await, Site::saying("fine").await);
    scene.own.0.lock().unwrap().push(own.port());
    scene.egress.add_mapping("mapped.test", &own.port().to_string()).unwrap();
    for host in
        ["127.0.0.1", "localhost", "127.0.0.9", "0.0.0.0", "x.localhost", "[::ffff:127.0.0.1]"]
    {
        let answer = scene.get(&format!("http://{host}:{}/", own.port())).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    assert!(scene.get("http://mapped.test/").await.starts_with("HTTP/1.1 403"));
    let itself = scene.get(&format!("http://{}/", scene.proxy)).await;
    assert!(itself.starts_with("HTTP/1.1 403"), "{itself}");
    assert!(own.heads().is_empty());
    assert!(scene.get(&format!("http://localhost:{}/", other.port())).await.ends_with("fine"));
    let health = scene.egress.health().await;
    assert!(health.listening && health.contradictions[0].contains("mapped.test"), "{health:?}");
}

#[tokio::test]
async fn rules_count_from_the_moment_they_are_set() {
    let scene = Scene::new();
    let (site, echo) = (Site::saying("page").await, echo().await);
    let page = format!("http://127.0.0.1:{}/", site.port());
    assert!(scene.get(&page).await.ends_with("page"));
    let rules = |texts: &[String]| scene.egress.rules("deny", texts).unwrap();
    let deny = rules(&[format!("127.0.0.0/8:{}", site.port()), "*.evil.test".to_owned()]);
    scene.egress.set_policy(Policy { deny, ..Policy::default() });
    let answer = scene.get(&page).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("127.0.0.0/8"), "{answer}");
    assert!(scene.connect(&echo.to_string()).await.0.starts_with("HTTP/1.1 200"));
    assert!(scene.get("http://a.evil.test/").await.starts_with("HTTP/1.1 403"));
    scene.egress.set_policy(Policy { deny_by_default: true, ..Policy::default() });
    assert!(scene.get(&page).await.ends_with("page"), "this machine is not meant by default");
    let refused = scene.get("http://192.0.2.1/").await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("no rule"), "{refused}");
    scene.egress.set_policy(Policy::default());
    assert!(scene.get(&page).await.ends_with("page"));
}

#[tokio::test]
async fn a_diagnosis_tells_the_way_and_really_tries_it() {
    let scene = Scene::new();
    let site = Site::saying("x").await;
    let diagnose = async |url: &str| scene.egress.diagnose(url).await.unwrap();
    let direct = diagnose(&format!("http://127.0.0.1:{}/", site.port())).await;
    assert_eq!((direct.route, direct.reachable), ("direct", true));
    assert_eq!(direct.target, Some(site.address.to_string()));
    scene.egress.add_mapping("app.test/v1/*", &format!("{}/base/", site.port())).unwrap();
    let mapped = diagnose("http://app.test/v1/x").await;
    assert_eq!((mapped.route, mapped.reachable), ("mapping", true));
    assert_eq!(mapped.target, Some(format!("127.0.0.1:{}/base/x", site.port())));
    scene.egress.add_mapping("dead.test", "1").unwrap();
    let dead = diagnose("https://dead.test").await;
    assert!(!dead.reachable && dead.route == "mapping" && dead.problem.is_some(), "{dead:?}");
    let refused = diagnose("http://169.254.169.254/").await;
    assert_eq!((refused.route, refused.reachable), ("refused", false));
    assert_eq!(scene.egress.refusals(1).1, 0, "a question is no attempt");
    for wrong in ["", "ftp://a/", "http://", "http://a b/"] {
        assert!(scene.egress.diagnose(wrong).await.is_err(), "{wrong:?}");
    }
}
