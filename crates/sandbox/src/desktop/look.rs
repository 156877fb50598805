//! The screen, the clipboard and the windows.

use atoll_api::desktop::{
    CaptureScreen, ClipboardText, ConfigureScreen, DesktopInfo, DesktopWindow, FocusWindow,
    GetClipboard, GetDesktopInfo, GetPointer, ListWindows, Pointer, Resolution,
    ScreenConfiguration, ScreenFormat, SetClipboard,
};
use atoll_desktop::{Format, MODES, Picture, Session, Size, WindowInfo};
use atoll_operation::{Content, Context, Error, Fetch, Handle, Kind, Source};

use super::error::failure;
use super::service::Desktops;

/// How exact a JPEG is when nobody says.
const QUALITY: u32 = 80;

impl Fetch<CaptureScreen> for Desktops {
    async fn fetch(&self, cx: &Context, input: CaptureScreen) -> Result<Content, Error> {
        let session = self.session(cx).await?;
        let (picture, media_type, extension) =
            picture(&session, input.format, input.quality).await?;
        let (width, height) = (picture.size.width.to_string(), picture.size.height.to_string());
        Ok(Content {
            media_type: media_type.to_owned(),
            filename: Some(format!("screen.{extension}")),
            inline: true,
            version: None,
            headers: vec![
                ("x-screen-width", width.clone()),
                ("x-screen-height", height.clone()),
                ("x-image-width", width),
                ("x-image-height", height),
                // The next one shows something else.
                ("cache-control", "no-store".to_owned()),
            ],
            source: Source::Bytes(picture.bytes),
        })
    }
}

/// A picture in the form asked for, with its media type and the end of a file's name.
pub(super) async fn picture(
    session: &Session,
    format: ScreenFormat,
    quality: Option<u32>,
) -> Result<(Picture, &'static str, &'static str), Error> {
    let quality = u8::try_from(quality.unwrap_or(QUALITY)).unwrap_or(100);
    let (format, media_type, extension) = match format {
        ScreenFormat::Png => (Format::Png, "image/png", "png"),
        ScreenFormat::Jpg | ScreenFormat::Jpeg => (Format::Jpeg(quality), "image/jpeg", "jpg"),
    };
    Ok((session.screenshot(format).await.map_err(failure)?, media_type, extension))
}

fn resolution(size: Size) -> Resolution {
    Resolution { width: size.width.into(), height: size.height.into() }
}

impl Handle<ConfigureScreen> for Desktops {
    async fn handle(
        &self,
        cx: &Context,
        input: ConfigureScreen,
    ) -> Result<ScreenConfiguration, Error> {
        let wanted = input.resolution;
        let known = |asked: Resolution| MODES.into_iter().find(|mode| resolution(*mode) == asked);
        let mode = match wanted.map(|asked| known(asked).ok_or(asked)) {
            None => None,
            Some(Ok(mode)) => Some(mode),
            Some(Err(Resolution { width, height })) => {
                let modes = MODES.map(|mode| mode.to_string()).join(", ");
                let message = format!("cannot be {width}x{height}; use one of {modes}");
                return Err(Error::field("resolution", "enum", message));
            }
        };
        let session = self.session(cx).await?;
        if let Some(mode) = mode
            && session.size().await.map_err(failure)? != mode
        {
            let recording = self.desktop.recorder().status().await;
            if recording.is_some_and(|recording| recording.under_way) {
                return Err(Error::new(
                    Kind::Conflict,
                    "desktop.recording_state",
                    "the screen cannot change its size while it is recorded; stop the recording first",
                ));
            }
            session.resize(mode).await.map_err(failure)?;
        }
        let size = session.size().await.map_err(failure)?;
        Ok(ScreenConfiguration { resolution: resolution(size) })
    }
}

impl Handle<GetDesktopInfo> for Desktops {
    async fn handle(&self, cx: &Context, _: GetDesktopInfo) -> Result<DesktopInfo, Error> {
        let session = self.desktop.running();
        let size = match &session {
            Some(session) => session.size().await.unwrap_or_else(|_| self.desktop.size()),
            None => self.desktop.size(),
        };
        let recording = self.desktop.recorder().status().await;
        Ok(DesktopInfo {
            available: self.is_available(),
            running: session.is_some(),
            display: session.as_ref().map(|session| session.display().to_owned()),
            authority: session.as_ref().map(|session| session.authority().display().to_string()),
            resolution: resolution(size),
            resolutions: MODES.into_iter().map(resolution).collect(),
            vnc_url: cx.link("/vnc/index.html", &[("autoconnect", "true")]),
            recording: recording.is_some_and(|recording| recording.under_way),
        })
    }
}

impl Handle<GetPointer> for Desktops {
    async fn handle(&self, _: &Context, _: GetPointer) -> Result<Pointer, Error> {
        let place = self.bare().await?.pointer().await.map_err(failure)?;
        Ok(Pointer { x: place.x, y: place.y })
    }
}

impl Handle<GetClipboard> for Desktops {
    async fn handle(&self, _: &Context, _: GetClipboard) -> Result<ClipboardText, Error> {
        let text = self.bare().await?.clipboard().await.map_err(failure)?;
        Ok(ClipboardText { text })
    }
}

impl Handle<SetClipboard> for Desktops {
    async fn handle(&self, _: &Context, input: SetClipboard) -> Result<ClipboardText, Error> {
        let session = self.bare().await?;
        session.set_clipboard(input.text.clone()).await.map_err(failure)?;
        Ok(ClipboardText { text: input.text })
    }
}

impl Handle<ListWindows> for Desktops {
    async fn handle(&self, cx: &Context, _: ListWindows) -> Result<Vec<DesktopWindow>, Error> {
        let windows = self.session(cx).await?.windows().await.map_err(failure)?;
        Ok(windows.into_iter().map(window).collect())
    }
}

impl Handle<FocusWindow> for Desktops {
    async fn handle(&self, _: &Context, input: FocusWindow) -> Result<DesktopWindow, Error> {
        let focused = self.bare().await?.focus(input.id).await.map_err(failure)?;
        Ok(window(focused))
    }
}

fn window(info: WindowInfo) -> DesktopWindow {
    DesktopWindow {
        id: info.id,
        title: info.title,
        class: info.class,
        pid: info.pid,
        x: info.x,
        y: info.y,
        width: info.width,
        height: info.height,
        active: info.active,
        visible: info.visible,
    }
}
