//! Every capability together: made from one foundation, bound to one registry, stopped at once.

use std::sync::Arc;

use atoll_api::bash::{
    AttachBash, CloseBashSession, CreateBashSession, ExecBash, KillBash, ListBashSessions,
    ReadBashOutput, WriteBash,
};
use atoll_api::browser::{
    ActivateTab, AddRoute, CheckBox, ClearCookies, ClickElement, CloseContext, CloseTab, CreateTab,
    DetectCaptcha, EvaluateScript, ExportConsole, ExportHar, FillField, FillForm, FindText,
    GetAccessibilityTree, GetBrowserInfo, GetConsole, GetCookies, GetElements, GetHtml,
    GetMarkdown, GetPageInfo, GetRequests, GetText, GoBack, GoForward, HoverElement, ListContexts,
    ListTabs, LoadState, NavigatePage, PressHotKey, PressKey, PrintPage, RecordPage, ReloadPage,
    RemoveRoute, RestartBrowser, SaveState, ScrollPage, ScrollTo, ScrollToElement, SelectOption,
    SetCookies, SetHeaders, SetScopedHeaders, TakeScreenshot, TypeText, UncheckBox, UploadToPage,
    WaitForCaptcha, WaitForPage,
};
use atoll_api::code::{ExecuteCode, GetCodeInfo};
use atoll_api::desktop::{
    CaptureScreen, ConfigureScreen, FocusWindow, GetClipboard, GetDesktopInfo, GetPointer,
    ListWindows, PerformAction, PerformActions, RecordScreen, SetClipboard, WatchDesktop,
};
use atoll_api::file::{
    AppendFile, AppendJsonLines, CopyPath, CountJsonLines, CreateTempFile, CreateWatch, DeletePath,
    DownloadArchive, DownloadFile, EditFile, ExtractArchive, FileExists, FindFiles, FollowWatch,
    GetHomeDirectory, GetTempDirectory, GlobFiles, GrepFiles, GrepText, ListPath, ListWatches,
    MakeDirectory, MovePath, PollWatch, ReadFile, ReadJsonLines, ReplaceInFile, ResolvePath,
    SearchInFile, StatPath, StopWatch, StrReplaceEditor, UploadFile, WaitForFile, WriteFile,
};
use atoll_api::jupyter::{
    CreateJupyterSession, DeleteJupyterSession, DeleteJupyterSessions, ExecuteJupyter,
    GetJupyterInfo, ListJupyterSessions,
};
use atoll_api::nodejs::{
    CreateNodeSession, DeleteNodeSession, ExecuteNode, GetNodeInfo, GetNodeSession,
    ListNodeSessions, UpdateNodeSession,
};
use atoll_api::observe::{
    DeleteReport, DownloadReport, ExportObservation, GetObservation, ListReports, LookAtSandbox,
    StartObservation, StopObservation,
};
use atoll_api::port::ListPorts;
use atoll_api::proxy::{
    AddExclude, AddMapping, CheckProxy, DiagnoseUrl, GetPolicy, GetProxyPac, GetUpstream,
    ListExcludes, ListIncludes, ListMappings, ListRefusals, RemoveExclude, RemoveMapping,
    RemoveUpstream, SetIncludes, SetPolicy, SetUpstream,
};
use atoll_api::service::{
    ListServices, ReadServiceLog, ReloadServices, RestartService, StartService, StopService,
};
use atoll_api::shell::{
    AttachShell, CloseAllShells, CloseShell, CreateShell, ExecShell, GetShellStats, GetTerminalUrl,
    KillShell, ListShells, UpdateShell, ViewShell, WaitShell, WriteShell,
};
use atoll_api::skill::{
    ClearSkills, DeleteSkill, GetSkillContent, InstallSkill, ListSkills, RegisterSkills,
};
use atoll_api::system::{GetLimits, GetSandbox, ListNodePackages, ListPythonPackages, Ping};
use atoll_api::terminal::{OpenPageTerminal, OpenTerminal};
use atoll_api::util::ConvertToMarkdown;
use atoll_api::web::{FetchWeb, SearchWeb};
use atoll_api::window::{
    ListDevTools, OpenAbsolutePreview, OpenApp, OpenCodeServer, OpenDevTools, OpenLab, OpenPreview,
};
use atoll_observe::Journal;
use atoll_operation::Registry;
use atoll_process::Spawner;

use crate::bash::Bashes;
use crate::browser::{BrowserSettings, Browsers};
use crate::code::jupyter::{JupyterSettings, Jupyters};
use crate::code::nodejs::Nodes;
use crate::code::unified::Codes;
use crate::convert::{Conversions, Converter};
use crate::desktop::{DesktopSettings, DesktopStage, Desktops};
use crate::egress::{EgressSettings, Proxies};
use crate::file::{Files, Watches};
use crate::foundation::Foundation;
use crate::observe::{ObserveSettings, Observers};
use crate::programs::Programs;
use crate::service::{ServiceSettings, Services, parts};
use crate::shell::Shells;
use crate::skill::{SkillSettings, Skills};
use crate::system::Systems;
use crate::web::{SearchSettings, Webs, fetcher};
use crate::window::{CodeServer, CodeServerSettings, InternalPorts, Lab, Ports, Previews};

/// Events that are kept for those who look for a cause.
const EVENTS: usize = 500;

/// What the operator chose.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Keep a Python kernel started.
    pub warm_kernel: bool,
    /// The Python whose kernel is the default.
    pub python_version: Option<String>,
    /// Offer no JupyterLab.
    pub disable_jupyter_lab: bool,
    /// How VS Code shall be.
    pub code_server: CodeServerSettings,
    /// The port of the app that is shown without naming it.
    pub app_port: Option<u16>,
    /// How the browser shall be.
    pub browser: BrowserSettings,
    /// How the desktop shall be.
    pub desktop: DesktopSettings,
    /// Where skills are.
    pub skills: SkillSettings,
    /// Where services of users are set up.
    pub services: ServiceSettings,
    /// How the sandbox is observed.
    pub observe: ObserveSettings,
    /// How programs reach the outside.
    pub egress: EgressSettings,
    /// Who searches the web.
    pub search: SearchSettings,
}

/// A sandbox's capabilities.
#[derive(Debug)]
pub struct Sandbox {
    /// Shell sessions.
    pub shells: Arc<Shells>,
    /// Bash sessions.
    pub bashes: Arc<Bashes>,
    /// Files.
    pub files: Arc<Files>,
    /// Watchers of files.
    pub watches: Arc<Watches>,
    /// Jupyter kernels.
    pub jupyters: Arc<Jupyters>,
    /// Node.js.
    pub nodes: Arc<Nodes>,
    codes: Arc<Codes>,
    /// The browser.
    pub browsers: Arc<Browsers>,
    /// The desktop.
    pub desktops: Arc<Desktops>,
    lab: Arc<Lab>,
    code_server: Arc<CodeServer>,
    previews: Arc<Previews>,
    ports: Arc<Ports>,
    proxies: Arc<Proxies>,
    conversions: Arc<Conversions>,
    webs: Arc<Webs>,
    /// Ports that are not for others.
    pub internal_ports: Arc<InternalPorts>,
    /// Skills.
    pub skills: Arc<Skills>,
    /// Services.
    pub services: Arc<Services>,
    observers: Arc<Observers>,
    /// What the sandbox is.
    pub systems: Arc<Systems>,
    programs: Programs,
}

impl Sandbox {
    /// Builds them without starting any program. Needs a tokio runtime.
    pub fn new(foundation: Foundation, spawner: Spawner, choices: Choices) -> Self {
        let programs = Programs::new(foundation, spawner);
        let internal_ports = Arc::new(InternalPorts::default());
        let egress = Proxies::mechanism(&programs, &internal_ports, choices.egress);
        let programs = programs.through(&egress);
        let systems = Systems::new(programs.foundation());
        let settings =
            JupyterSettings { warm: choices.warm_kernel, python_version: choices.python_version };
        let jupyters = Jupyters::new(&programs, settings);
        let nodes = Nodes::new(&programs);
        let converter = Converter::new(&programs);
        let fetcher = fetcher(&egress);
        let files = Files::new(&programs, &converter);
        let desktop = Desktops::mechanism(&programs, choices.browser.window);
        let stage = DesktopStage::of(&desktop, &choices.desktop);
        let browsers = Browsers::new(&programs, &files, stage, choices.browser);
        let desktops = Desktops::new(&programs, &files, &browsers, desktop, choices.desktop);
        let lab = Lab::new(&programs, !choices.disable_jupyter_lab);
        let code_server = CodeServer::new(&programs, choices.code_server);
        let debugged = Arc::clone(&browsers);
        internal_ports.add_source(move || debugged.debug_port());
        let journal = Arc::new(Journal::new(EVENTS));
        let parts = parts(&browsers, &desktops, &lab, &code_server);
        Self {
            observers: Observers::new(&programs, &journal, choices.observe),
            services: Services::new(&programs, &journal, parts, choices.services),
            shells: Shells::new(&programs),
            bashes: Bashes::new(&programs),
            browsers,
            desktops,
            files,
            watches: Watches::new(&programs),
            codes: Codes::new(&programs, &jupyters, &nodes),
            jupyters,
            nodes,
            lab,
            code_server,
            previews: Previews::new(&internal_ports, choices.app_port),
            proxies: Proxies::new(&egress),
            conversions: Conversions::new(&programs, &converter, &fetcher),
            webs: Webs::new(&programs, &converter, &fetcher, choices.search),
            ports: Ports::new(&internal_ports, &programs.foundation().stop),
            internal_ports,
            skills: Skills::new(&programs, choices.skills),
            systems,
            programs,
        }
    }

    /// Binds every operation to the capability that carries it out.
    pub fn bind(&self, registry: &mut Registry) {
        registry
            .bind::<GetSandbox, _>(&self.systems)
            .bind::<ListPythonPackages, _>(&self.systems)
            .bind::<ListNodePackages, _>(&self.systems)
            .bind::<GetLimits, _>(&self.systems)
            .bind::<Ping, _>(&self.systems);
        registry
            .bind::<ExecShell, _>(&self.shells)
            .bind_stream::<ExecShell, _>(&self.shells)
            .bind::<ViewShell, _>(&self.shells)
            .bind_stream::<ViewShell, _>(&self.shells)
            .bind::<WaitShell, _>(&self.shells)
            .bind::<WriteShell, _>(&self.shells)
            .bind::<KillShell, _>(&self.shells)
            .bind::<CreateShell, _>(&self.shells)
            .bind::<UpdateShell, _>(&self.shells)
            .bind::<GetTerminalUrl, _>(&self.shells)
            .bind::<GetShellStats, _>(&self.shells)
            .bind::<ListShells, _>(&self.shells)
            .bind::<CloseAllShells, _>(&self.shells)
            .bind::<CloseShell, _>(&self.shells)
            .bind_conversation::<AttachShell, _>(&self.shells)
            .bind_conversation::<OpenTerminal, _>(&self.shells)
            .bind_conversation::<OpenPageTerminal, _>(&self.shells);
        registry
            .bind::<ExecBash, _>(&self.bashes)
            .bind_stream::<ExecBash, _>(&self.bashes)
            .bind::<ReadBashOutput, _>(&self.bashes)
            .bind::<WriteBash, _>(&self.bashes)
            .bind::<KillBash, _>(&self.bashes)
            .bind::<ListBashSessions, _>(&self.bashes)
            .bind::<CreateBashSession, _>(&self.bashes)
            .bind::<CloseBashSession, _>(&self.bashes)
            .bind_conversation::<AttachBash, _>(&self.bashes);
        self.bind_files(registry);
        self.bind_code(registry);
        self.bind_browser(registry);
        self.bind_desktop(registry);
        self.bind_services(registry);
        self.bind_proxies(registry);
        self.bind_skills(registry);
        registry
            .bind::<ConvertToMarkdown, _>(&self.conversions)
            .bind::<FetchWeb, _>(&self.webs)
            .bind::<SearchWeb, _>(&self.webs);
    }

    fn bind_skills(&self, registry: &mut Registry) {
        registry
            .bind_upload::<RegisterSkills, _>(&self.skills)
            .bind::<ListSkills, _>(&self.skills)
            .bind::<ClearSkills, _>(&self.skills)
            .bind::<DeleteSkill, _>(&self.skills)
            .bind::<GetSkillContent, _>(&self.skills)
            .bind::<InstallSkill, _>(&self.skills)
            .bind_stream::<InstallSkill, _>(&self.skills);
    }

    fn bind_proxies(&self, registry: &mut Registry) {
        let proxies = &self.proxies;
        registry
            .bind::<ListMappings, _>(proxies)
            .bind::<AddMapping, _>(proxies)
            .bind::<RemoveMapping, _>(proxies)
            .bind::<ListExcludes, _>(proxies)
            .bind::<AddExclude, _>(proxies)
            .bind::<RemoveExclude, _>(proxies)
            .bind::<ListIncludes, _>(proxies)
            .bind::<SetIncludes, _>(proxies)
            .bind::<DiagnoseUrl, _>(proxies)
            .bind::<CheckProxy, _>(proxies)
            .bind::<GetUpstream, _>(proxies)
            .bind::<SetUpstream, _>(proxies)
            .bind::<RemoveUpstream, _>(proxies)
            .bind::<GetPolicy, _>(proxies)
            .bind::<SetPolicy, _>(proxies)
            .bind::<ListRefusals, _>(proxies)
            .bind_download::<GetProxyPac, _>(proxies);
    }

    fn bind_services(&self, registry: &mut Registry) {
        registry
            .bind::<ListServices, _>(&self.services)
            .bind_stream::<ListServices, _>(&self.services)
            .bind::<StartService, _>(&self.services)
            .bind::<StopService, _>(&self.services)
            .bind::<RestartService, _>(&self.services)
            .bind::<ReadServiceLog, _>(&self.services)
            .bind_stream::<ReadServiceLog, _>(&self.services)
            .bind::<ReloadServices, _>(&self.services);
        registry
            .bind::<GetObservation, _>(&self.observers)
            .bind::<LookAtSandbox, _>(&self.observers)
            .bind::<StartObservation, _>(&self.observers)
            .bind::<StopObservation, _>(&self.observers)
            .bind::<ExportObservation, _>(&self.observers)
            .bind::<ListReports, _>(&self.observers)
            .bind_download::<DownloadReport, _>(&self.observers)
            .bind::<DeleteReport, _>(&self.observers);
    }

    fn bind_desktop(&self, registry: &mut Registry) {
        let desktops = &self.desktops;
        registry
            .bind_download::<CaptureScreen, _>(desktops)
            .bind::<PerformAction, _>(desktops)
            .bind::<ConfigureScreen, _>(desktops)
            .bind::<RecordScreen, _>(desktops)
            .bind::<PerformActions, _>(desktops)
            .bind::<GetDesktopInfo, _>(desktops)
            .bind::<GetPointer, _>(desktops)
            .bind::<GetClipboard, _>(desktops)
            .bind::<SetClipboard, _>(desktops)
            .bind::<ListWindows, _>(desktops)
            .bind::<FocusWindow, _>(desktops)
            .bind_window::<WatchDesktop, _>(desktops);
    }

    fn bind_browser(&self, registry: &mut Registry) {
        let browsers = &self.browsers;
        registry
            .bind::<GetBrowserInfo, _>(browsers)
            .bind::<RestartBrowser, _>(browsers)
            .bind::<ListContexts, _>(browsers)
            .bind::<CloseContext, _>(browsers)
            .bind::<ListTabs, _>(browsers)
            .bind::<CreateTab, _>(browsers)
            .bind::<CloseTab, _>(browsers)
            .bind::<ActivateTab, _>(browsers)
            .bind::<GetCookies, _>(browsers)
            .bind::<SetCookies, _>(browsers)
            .bind::<ClearCookies, _>(browsers)
            .bind::<SaveState, _>(browsers)
            .bind::<LoadState, _>(browsers)
            .bind::<SetHeaders, _>(browsers)
            .bind::<SetScopedHeaders, _>(browsers)
            .bind::<AddRoute, _>(browsers)
            .bind::<RemoveRoute, _>(browsers)
            .bind::<GetRequests, _>(browsers)
            .bind::<ExportHar, _>(browsers)
            .bind::<DetectCaptcha, _>(browsers)
            .bind::<WaitForCaptcha, _>(browsers)
            .bind_window::<OpenDevTools, _>(browsers)
            .bind_window::<ListDevTools, _>(browsers);
        registry
            .bind::<NavigatePage, _>(browsers)
            .bind::<GoBack, _>(browsers)
            .bind::<GoForward, _>(browsers)
            .bind::<ReloadPage, _>(browsers)
            .bind::<ClickElement, _>(browsers)
            .bind::<FillField, _>(browsers)
            .bind::<TypeText, _>(browsers)
            .bind::<PressKey, _>(browsers)
            .bind::<PressHotKey, _>(browsers)
            .bind::<HoverElement, _>(browsers)
            .bind::<SelectOption, _>(browsers)
            .bind::<CheckBox, _>(browsers)
            .bind::<UncheckBox, _>(browsers)
            .bind::<UploadToPage, _>(browsers)
            .bind::<FillForm, _>(browsers)
            .bind::<ScrollPage, _>(browsers)
            .bind::<ScrollTo, _>(browsers)
            .bind::<ScrollToElement, _>(browsers)
            .bind_download::<TakeScreenshot, _>(browsers)
            .bind_download::<PrintPage, _>(browsers)
            .bind::<RecordPage, _>(browsers)
            .bind::<GetHtml, _>(browsers)
            .bind::<GetText, _>(browsers)
            .bind::<GetMarkdown, _>(browsers)
            .bind::<GetElements, _>(browsers)
            .bind::<GetAccessibilityTree, _>(browsers)
            .bind::<GetConsole, _>(browsers)
            .bind::<ExportConsole, _>(browsers)
            .bind::<EvaluateScript, _>(browsers)
            .bind::<GetPageInfo, _>(browsers)
            .bind::<FindText, _>(browsers)
            .bind::<WaitForPage, _>(browsers);
    }

    fn bind_code(&self, registry: &mut Registry) {
        registry
            .bind::<ExecuteJupyter, _>(&self.jupyters)
            .bind_stream::<ExecuteJupyter, _>(&self.jupyters)
            .bind::<GetJupyterInfo, _>(&self.jupyters)
            .bind::<ListJupyterSessions, _>(&self.jupyters)
            .bind::<CreateJupyterSession, _>(&self.jupyters)
            .bind::<DeleteJupyterSession, _>(&self.jupyters)
            .bind::<DeleteJupyterSessions, _>(&self.jupyters);
        registry
            .bind::<ExecuteNode, _>(&self.nodes)
            .bind_stream::<ExecuteNode, _>(&self.nodes)
            .bind::<GetNodeInfo, _>(&self.nodes)
            .bind::<CreateNodeSession, _>(&self.nodes)
            .bind::<ListNodeSessions, _>(&self.nodes)
            .bind::<GetNodeSession, _>(&self.nodes)
            .bind::<UpdateNodeSession, _>(&self.nodes)
            .bind::<DeleteNodeSession, _>(&self.nodes);
        registry
            .bind::<ExecuteCode, _>(&self.codes)
            .bind_stream::<ExecuteCode, _>(&self.codes)
            .bind::<GetCodeInfo, _>(&self.codes)
            .bind_window::<OpenLab, _>(&self.lab)
            .bind_window::<OpenCodeServer, _>(&self.code_server);
        registry
            .bind_window::<OpenPreview, _>(&self.previews)
            .bind_window::<OpenAbsolutePreview, _>(&self.previews)
            .bind_window::<OpenApp, _>(&self.previews)
            .bind::<ListPorts, _>(&self.ports)
            .bind_stream::<ListPorts, _>(&self.ports);
    }

    fn bind_files(&self, registry: &mut Registry) {
        registry
            .bind::<ReadFile, _>(&self.files)
            .bind::<WriteFile, _>(&self.files)
            .bind::<AppendFile, _>(&self.files)
            .bind::<ReplaceInFile, _>(&self.files)
            .bind::<SearchInFile, _>(&self.files)
            .bind::<CreateTempFile, _>(&self.files)
            .bind::<FindFiles, _>(&self.files)
            .bind::<GrepFiles, _>(&self.files)
            .bind::<GrepText, _>(&self.files)
            .bind::<CountJsonLines, _>(&self.files)
            .bind::<ReadJsonLines, _>(&self.files)
            .bind::<AppendJsonLines, _>(&self.files)
            .bind::<GlobFiles, _>(&self.files)
            .bind_upload::<UploadFile, _>(&self.files)
            .bind_download::<DownloadFile, _>(&self.files)
            .bind_download::<DownloadArchive, _>(&self.files)
            .bind_upload::<ExtractArchive, _>(&self.files)
            .bind::<ListPath, _>(&self.files)
            .bind::<StatPath, _>(&self.files)
            .bind::<FileExists, _>(&self.files)
            .bind::<ResolvePath, _>(&self.files)
            .bind::<MakeDirectory, _>(&self.files)
            .bind::<DeletePath, _>(&self.files)
            .bind::<MovePath, _>(&self.files)
            .bind::<CopyPath, _>(&self.files)
            .bind::<GetTempDirectory, _>(&self.files)
            .bind::<GetHomeDirectory, _>(&self.files)
            .bind::<StrReplaceEditor, _>(&self.files)
            .bind::<EditFile, _>(&self.files);
        registry
            .bind::<ListWatches, _>(&self.watches)
            .bind::<CreateWatch, _>(&self.watches)
            .bind::<FollowWatch, _>(&self.watches)
            .bind_stream::<FollowWatch, _>(&self.watches)
            .bind::<PollWatch, _>(&self.watches)
            .bind::<WaitForFile, _>(&self.watches)
            .bind::<StopWatch, _>(&self.watches);
    }

    /// Ends every session with all its processes, then waits for the tasks that served them: they end because the
    /// foundation's `stop` is cancelled, which the caller has done.
    pub async fn stop(self) {
        self.watches.close_all();
        tokio::join!(
            self.shells.close_all(),
            self.bashes.close_all(),
            self.jupyters.close_all(),
            self.nodes.close_all(),
            self.lab.close(),
            self.code_server.close(),
            self.browsers.close(),
        );
        // After the browser, which is shown on it.
        self.desktops.close().await;
        let tasks = self.programs.tasks();
        tasks.close();
        tasks.wait().await;
    }
}
