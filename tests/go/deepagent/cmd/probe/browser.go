package main

import (
	"context"
	"encoding/base64"
	"strings"
)

const page = `data:text/html,<title>A page</title><p id="text">Hello</p><input id="field" value="x">` +
	`<button id="press" onclick="document.title='Pressed'">Press</button><div style="height:5000px"></div>`

func browser(checks *checks, base, secret string) {
	ctx := context.Background()
	client := connect(base, secret, "")

	info, err := client.BrowserGetInfo(ctx)
	checks.fine("BrowserGetInfo", err)
	reached := strings.HasPrefix(info.CDPURL, "ws") && info.WebSocketURL == info.CDPURL && info.Status == "connected"
	checks.that("a browser says how it is reached", reached, info)

	checks.fine("BrowserNavigate", client.BrowserNavigate(ctx, page))
	checks.fine("BrowserWaitVisible", client.BrowserWaitVisible(ctx, "#press"))
	title, err := client.BrowserGetTitle(ctx)
	checks.that("BrowserGetTitle", err == nil && title == "A page", title, err)
	url, err := client.BrowserGetCurrentURL(ctx)
	checks.that("BrowserGetCurrentURL", err == nil && strings.HasPrefix(url, "data:text/html"), url, err)
	known, err := client.BrowserGetPageInfo(ctx)
	sized := known.Title == "A page" && known.URL == url && known.Width > 0 && known.Height > 0
	checks.that("BrowserGetPageInfo", err == nil && sized, known, err)

	checks.fine("BrowserClick", client.BrowserClick(ctx, "#press"))
	title, err = client.BrowserGetTitle(ctx)
	checks.that("a click reaches the page", err == nil && title == "Pressed", title, err)
	checks.fine("BrowserType", client.BrowserType(ctx, "#field", "yz"))
	value, err := client.BrowserEvaluate(ctx, "document.getElementById('field').value")
	checks.that("typing adds to what is there", err == nil && len(value) == 5, string(value), err)
	value, err = client.BrowserEvaluate(ctx, "({a: [1, null]})")
	checks.that("BrowserEvaluate", err == nil && string(value) == `{"a":[1,null]}`, string(value), err)
	checks.fine("BrowserScroll", client.BrowserScroll(ctx, 0, 700))
	value, err = client.BrowserEvaluate(ctx, "scrollY")
	checks.that("scrolling goes to a place", err == nil && string(value) == "700", string(value), err)
	html, err := client.BrowserGetHTML(ctx, "#text")
	checks.that("BrowserGetHTML", err == nil && html == `<p id="text">Hello</p>`, html, err)

	picture, err := client.BrowserScreenshot(ctx, shot("", 0, false))
	checks.fine("BrowserScreenshot", err)
	checks.that("a picture is a PNG", begins(picture, "\x89PNG"))
	picture, err = client.BrowserScreenshot(ctx, shot("jpeg", 50, true))
	checks.fine("BrowserScreenshot of all", err)
	checks.that("or a JPEG", begins(picture, "\xff\xd8"))
	printed, err := client.BrowserPDF(ctx)
	checks.fine("BrowserPDF", err)
	checks.that("a print is a PDF", begins(printed, "%PDF"))

	err = client.BrowserNavigate(ctx, "http://127.0.0.1:1/")
	checks.that("a page that is not there", refused(err) != nil && refused(err).Code == 500, err)
	_, err = client.BrowserEvaluate(ctx, "nothing.here")
	checks.that("code that fails", refused(err) != nil && refused(err).Code == 500, err)
	err = client.BrowserClick(ctx, "")
	checks.that("no selector", refused(err) != nil && refused(err).Code == 400, err)
}

func begins(encoded, with string) bool {
	content, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && strings.HasPrefix(string(content), with)
}
