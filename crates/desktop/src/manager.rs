//! The window manager: openbox, started with the desktop and again when it dies. A desktop without one works, but
//! windows are not maximised and cannot be brought to the front.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_process::{Command, Piped, Spawner};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::options::Options;
use crate::server::{last_words, piped_settings};

/// Pause before it is started again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it is started again in all: one that always dies is left alone.
const STARTS: usize = 20;
/// No menu on the desktop, no second workspace to get lost on, and the browser fills the screen.
const CONFIGURATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse><raiseOnFocus>yes</raiseOnFocus></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <desktops><number>1</number></desktops>
  <resistance><strength>0</strength><screen_edge_strength>0</screen_edge_strength></resistance>
  <keyboard>
    <keybind key="A-F4"><action name="Close"/></keybind>
    <keybind key="A-Tab"><action name="NextWindow"/></keybind>
  </keyboard>
  <mouse>
    <context name="Titlebar">
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
      <mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Frame">
      <mousebind button="A-Left" action="Drag"><action name="Move"/></mousebind>
    </context>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Middle" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Right" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Titlebar Top Right Bottom Left TLCorner TRCorner BRCorner BLCorner">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Left" action="Drag"><action name="Resize"/></mousebind>
    </context>
    <context name="Close">
      <mousebind button="Left" action="Click"><action name="Close"/></mousebind>
    </context>
    <context name="Maximize">
      <mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Iconify">
      <mousebind button="Left" action="Click"><action name="Iconify"/></mousebind>
    </context>
  </mouse>
  <applications>
    <application class="*hrom*" type="normal"><maximized>yes</maximized></application>
  </applications>
</openbox_config>
"#;

/// Runs the window manager until `stop`. Says nothing when there is none to run.
pub(crate) fn keep_running(
    spawner: Spawner,
    options: Arc<Options>,
    environment: std::collections::BTreeMap<String, String>,
    stop: CancellationToken,
    tasks: &TaskTracker,
) {
    let Some(program) = options.find("openbox") else {
        tracing::warn!("openbox is not installed: windows of the desktop are not managed");
        return;
    };
    let configuration = options.directory.join("openbox.xml");
    if let Err(error) = std::fs::write(&configuration, CONFIGURATION) {
        tracing::warn!(%error, "the window manager's configuration cannot be written");
        return;
    }
    let command = Command {
        program,
        arguments: vec![
            "--sm-disable".to_owned(),
            "--config-file".to_owned(),
            configuration.display().to_string(),
        ],
        environment,
        directory: PathBuf::from("/"),
    };
    tasks.spawn(async move {
        for _ in 0..STARTS {
            let running = match Piped::start(&spawner, &command, &piped_settings(&options)).await {
                Ok(running) => running,
                Err(error) => {
                    tracing::warn!(%error, "the window manager could not be started");
                    return;
                }
            };
            tokio::select! {
                exit = running.wait() => {
                    tracing::warn!(%exit, said = last_words(&running), "the window manager ended");
                }
                () = stop.cancelled() => {
                    running.child().kill_all().await;
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = stop.cancelled() => return,
            }
        }
    });
}
