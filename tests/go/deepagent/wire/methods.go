package wire

import (
	"context"
	"encoding/json"
)

// Sandbox is what a sandbox says of itself.
type Sandbox struct {
	Workspace string `json:"workspace"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	OSVersion string `json:"os_version"`
	HomeDir   string `json:"home_dir"`
}

// BashRequest is a command to run.
type BashRequest struct {
	Command         string            `json:"command"`
	Cwd             string            `json:"cwd,omitempty"`
	TimeoutMS       int               `json:"timeout_ms,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	RunInBackground bool              `json:"run_in_background,omitempty"`
}

// BashResult is what a command did.
type BashResult struct {
	Output     string `json:"output"`
	ExitCode   int    `json:"exit_code"`
	Error      string `json:"error,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
}

// FileInfo is a file in a directory.
type FileInfo struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Size        int64  `json:"size"`
	IsDir       bool   `json:"is_dir"`
	Mode        string `json:"mode"`
	ModTimeUnix int64  `json:"mod_time_unix"`
}

// GrepRequest is a search in files.
type GrepRequest struct {
	Pattern         string `json:"pattern"`
	Path            string `json:"path,omitempty"`
	Glob            string `json:"glob,omitempty"`
	CaseInsensitive bool   `json:"case_insensitive,omitempty"`
	ContextLines    int    `json:"context_lines,omitempty"`
	OutputMode      string `json:"output_mode,omitempty"`
	Limit           int    `json:"limit,omitempty"`
	MaxLineLength   int    `json:"max_line_length,omitempty"`
}

// GrepResult is what it found.
type GrepResult struct {
	Output    string `json:"output"`
	Truncated bool   `json:"truncated"`
}

// GlobResult is what a search for names found.
type GlobResult struct {
	Files     []string `json:"files"`
	Count     int      `json:"count"`
	Truncated bool     `json:"truncated"`
	Output    string   `json:"output"`
}

// FileStat is what is known of a path.
type FileStat struct {
	Exists      bool   `json:"exists"`
	IsDir       bool   `json:"is_dir"`
	Size        int64  `json:"size"`
	Mode        string `json:"mode"`
	ModTimeUnix int64  `json:"mod_time_unix"`
}

// BrowserInfo says how a browser is reached.
type BrowserInfo struct {
	CDPURL       string `json:"cdp_url"`
	WebSocketURL string `json:"websocket_url"`
	Status       string `json:"status"`
}

// PageInfo is the page a browser shows.
type PageInfo struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// Screenshot is how a picture shall be.
type Screenshot struct {
	Format  string `json:"format"`
	Quality int    `json:"quality"`
	Full    bool   `json:"full"`
}

// GetContext asks what the sandbox is.
func (client *Client) GetContext(ctx context.Context) (sandbox Sandbox, err error) {
	err = client.get(ctx, "/v1/sandbox", &sandbox)
	return
}

// BashExec runs a command.
func (client *Client) BashExec(ctx context.Context, request BashRequest) (result BashResult, err error) {
	if request.Cwd == "" {
		request.Cwd = client.cwd
	}
	err = client.post(ctx, "/v1/bash/exec", request, &result)
	return
}

// FileRead reads a file.
func (client *Client) FileRead(ctx context.Context, file string, base64 bool) (string, error) {
	var read struct {
		Content string `json:"content"`
	}
	err := client.post(ctx, "/v1/file/read", map[string]any{"file": file, "base64": base64}, &read)
	return read.Content, err
}

// FileWrite writes one.
func (client *Client) FileWrite(ctx context.Context, file, content string, base64 bool) error {
	body := map[string]any{"file": file, "content": content, "base64": base64}
	return client.post(ctx, "/v1/file/write", body, nil)
}

// FileAppend adds to one.
func (client *Client) FileAppend(ctx context.Context, file, content string) error {
	return client.post(ctx, "/v1/file/append", map[string]any{"file": file, "content": content}, nil)
}

// FileList lists a directory.
func (client *Client) FileList(ctx context.Context, path string) ([]FileInfo, error) {
	var list struct {
		Files []FileInfo `json:"files"`
	}
	err := client.post(ctx, "/v1/file/list", map[string]any{"path": path}, &list)
	return list.Files, err
}

// FileDelete deletes a path with everything below it.
func (client *Client) FileDelete(ctx context.Context, path string) error {
	return client.post(ctx, "/v1/file/delete", map[string]any{"path": path}, nil)
}

// FileMove moves one.
func (client *Client) FileMove(ctx context.Context, source, destination string) error {
	body := map[string]any{"source": source, "destination": destination}
	return client.post(ctx, "/v1/file/move", body, nil)
}

// FileCopy copies one.
func (client *Client) FileCopy(ctx context.Context, source, destination string) error {
	body := map[string]any{"source": source, "destination": destination}
	return client.post(ctx, "/v1/file/copy", body, nil)
}

// MkDir makes a directory and those above it.
func (client *Client) MkDir(ctx context.Context, path string) error {
	return client.post(ctx, "/v1/file/mkdir", map[string]any{"path": path}, nil)
}

// FileExists asks whether there is something. The path is not escaped.
func (client *Client) FileExists(ctx context.Context, path string) (bool, error) {
	var known struct {
		Exists bool `json:"exists"`
	}
	err := client.get(ctx, "/v1/file/exists?path="+path, &known)
	return known.Exists, err
}

// FileStat asks what there is.
func (client *Client) FileStat(ctx context.Context, path string) (stat FileStat, err error) {
	err = client.post(ctx, "/v1/file/stat", map[string]any{"path": path}, &stat)
	return
}

// FileGlob looks for names.
func (client *Client) FileGlob(ctx context.Context, path, pattern string, limit int) (result GlobResult, err error) {
	body := map[string]any{"path": path, "pattern": pattern, "limit": limit}
	err = client.post(ctx, "/v1/file/glob", body, &result)
	return
}

// FileCreateTemp makes a file nobody else has.
func (client *Client) FileCreateTemp(ctx context.Context, dir, pattern, content string) (string, error) {
	var made struct {
		File string `json:"file"`
	}
	body := map[string]any{"dir": dir, "pattern": pattern, "content": content}
	err := client.post(ctx, "/v1/file/create-temp", body, &made)
	return made.File, err
}

// EvalSymlinks follows links.
func (client *Client) EvalSymlinks(ctx context.Context, path string) (string, error) {
	var resolved struct {
		Path string `json:"resolved_path"`
	}
	err := client.post(ctx, "/v1/file/eval-symlinks", map[string]any{"path": path}, &resolved)
	return resolved.Path, err
}

// Directory asks for `temp-dir` or `home-dir`.
func (client *Client) Directory(ctx context.Context, which string) (string, error) {
	var known struct {
		Path string `json:"path"`
	}
	err := client.get(ctx, "/v1/file/"+which, &known)
	return known.Path, err
}

// GrepSearch searches in files.
func (client *Client) GrepSearch(ctx context.Context, request GrepRequest) (result GrepResult, err error) {
	err = client.post(ctx, "/v1/grep/search", request, &result)
	return
}

// JSONLCount counts lines.
func (client *Client) JSONLCount(ctx context.Context, file string) (int, error) {
	var count struct {
		Lines int `json:"lines"`
	}
	err := client.post(ctx, "/v1/jsonl/count", map[string]any{"file": file}, &count)
	return count.Lines, err
}

// JSONLRead reads lines; nil reads all.
func (client *Client) JSONLRead(ctx context.Context, file string, start int, count *int) ([]string, error) {
	var read struct {
		Lines []string `json:"lines"`
	}
	body := map[string]any{"file": file, "start_line": start, "count": count}
	err := client.post(ctx, "/v1/jsonl/read", body, &read)
	return read.Lines, err
}

// JSONLAppend adds a line, or several.
func (client *Client) JSONLAppend(ctx context.Context, file string, lines any) error {
	return client.post(ctx, "/v1/jsonl/append", map[string]any{"file": file, "json_string": lines}, nil)
}

// BrowserGetInfo asks how the browser is reached.
func (client *Client) BrowserGetInfo(ctx context.Context) (info BrowserInfo, err error) {
	err = client.get(ctx, "/v1/browser/info", &info)
	return
}

// BrowserNavigate opens an address.
func (client *Client) BrowserNavigate(ctx context.Context, url string) error {
	return client.post(ctx, "/v1/browser/navigate", map[string]any{"url": url}, nil)
}

// BrowserScreenshot takes a picture, in base64.
func (client *Client) BrowserScreenshot(ctx context.Context, how Screenshot) (string, error) {
	var taken struct {
		Screenshot string `json:"screenshot"`
	}
	err := client.post(ctx, "/v1/browser/screenshot", how, &taken)
	return taken.Screenshot, err
}

// BrowserClick clicks an element.
func (client *Client) BrowserClick(ctx context.Context, selector string) error {
	return client.post(ctx, "/v1/browser/click", map[string]any{"selector": selector}, nil)
}

// BrowserType types into an element.
func (client *Client) BrowserType(ctx context.Context, selector, text string) error {
	body := map[string]any{"selector": selector, "text": text}
	return client.post(ctx, "/v1/browser/type", body, nil)
}

// BrowserEvaluate runs JavaScript.
func (client *Client) BrowserEvaluate(ctx context.Context, expression string) (json.RawMessage, error) {
	var value struct {
		Result json.RawMessage `json:"result"`
	}
	err := client.post(ctx, "/v1/browser/evaluate", map[string]any{"expression": expression}, &value)
	return value.Result, err
}

// BrowserGetCurrentURL asks for the page's address.
func (client *Client) BrowserGetCurrentURL(ctx context.Context) (string, error) {
	var page PageInfo
	err := client.get(ctx, "/v1/browser/url", &page)
	return page.URL, err
}

// BrowserGetTitle asks for the page's title.
func (client *Client) BrowserGetTitle(ctx context.Context) (string, error) {
	var page PageInfo
	err := client.get(ctx, "/v1/browser/title", &page)
	return page.Title, err
}

// BrowserGetPageInfo asks for both and the size, by the SDK's own spelling.
func (client *Client) BrowserGetPageInfo(ctx context.Context) (page PageInfo, err error) {
	err = client.get(ctx, "/v1/browser/page-info", &page)
	return
}

// BrowserScroll scrolls to a place.
func (client *Client) BrowserScroll(ctx context.Context, x, y int) error {
	return client.post(ctx, "/v1/browser/scroll", map[string]any{"x": x, "y": y}, nil)
}

// BrowserGetHTML reads an element's source.
func (client *Client) BrowserGetHTML(ctx context.Context, selector string) (string, error) {
	var read struct {
		HTML string `json:"html"`
	}
	err := client.post(ctx, "/v1/browser/html", map[string]any{"selector": selector}, &read)
	return read.HTML, err
}

// BrowserWaitVisible waits for an element, by the SDK's own spelling.
func (client *Client) BrowserWaitVisible(ctx context.Context, selector string) error {
	return client.post(ctx, "/v1/browser/wait-visible", map[string]any{"selector": selector}, nil)
}

// BrowserPDF prints the page, in base64. The request has no body.
func (client *Client) BrowserPDF(ctx context.Context) (string, error) {
	var printed struct {
		PDF string `json:"pdf"`
	}
	err := client.post(ctx, "/v1/browser/pdf", nil, &printed)
	return printed.PDF, err
}
