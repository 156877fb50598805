// Names the captcha of this document by the marks its maker leaves, or null. A mark in a frame of the maker's own is
// enough: whether such a frame can be looked into does not matter.
() => {
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) return false;
    return element.checkVisibility
      ? element.checkVisibility({opacityProperty: true, visibilityProperty: true})
      : getComputedStyle(element).visibility !== 'hidden';
  };
  const every = (selector) => {
    const found = [];
    const search = (root) => {
      found.push(...root.querySelectorAll(selector));
      for (const host of root.querySelectorAll('*')) if (host.shadowRoot) search(host.shadowRoot);
    };
    search(document);
    return found;
  };
  // `marks` show the captcha, `answers` are fields that hold its answer once it is solved, `done` shows it solved.
  const makers = [
    {
      kind: 'recaptcha',
      marks: '.g-recaptcha:not([data-size="invisible"]), iframe[src*="/recaptcha/api2/anchor"]:not([src*="size=invisible"]), '
        + 'iframe[src*="/recaptcha/enterprise/anchor"]:not([src*="size=invisible"]), iframe[src*="/recaptcha/api2/bframe"], '
        + 'iframe[src*="/recaptcha/enterprise/bframe"]',
      answers: 'textarea[name="g-recaptcha-response"]',
    },
    {
      kind: 'hcaptcha',
      marks: '.h-captcha:not([data-size="invisible"]), iframe[src*="hcaptcha.com/captcha/"], iframe[src*="hcaptcha.html"]',
      answers: 'textarea[name="h-captcha-response"]',
    },
    {
      kind: 'turnstile',
      marks: '.cf-turnstile, iframe[src*="challenges.cloudflare.com"]',
      answers: 'input[name="cf-turnstile-response"]',
      quiet: true,
    },
    {
      kind: 'cloudflare_challenge',
      marks: '#challenge-form, #challenge-running, #challenge-stage, #cf-challenge-running, .cf-browser-verification, '
        + 'script[src*="/cdn-cgi/challenge-platform/"][src*="orchestrate"]',
      quiet: true,
    },
    {
      kind: 'geetest',
      marks: '.geetest_holder, .geetest_captcha, .geetest_panel_box, .geetest_btn',
      answers: 'input[name="geetest_validate"]',
      done: '.geetest_radar_success, .geetest_lock_success, .geetest_success',
    },
    {
      kind: 'arkose',
      marks: '#FunCaptcha, iframe[src*="arkoselabs.com"], iframe[src*="funcaptcha.com"], iframe[data-e2e="enforcement-frame"]',
    },
    {kind: 'datadome', marks: 'iframe[src*="captcha-delivery.com"], #ddv1-captcha-container', quiet: true},
    {kind: 'perimeterx', marks: '#px-captcha, .px-captcha-container, #px-captcha-wrapper'},
    {kind: 'aws_waf', marks: 'awswaf-captcha, #amzn-captcha-verify-button, #captcha-container .amzn-captcha-modal'},
    {
      kind: 'friendly_captcha',
      marks: '.frc-captcha',
      answers: 'input[name="frc-captcha-solution"], input[name="frc-captcha-response"]',
    },
    {
      kind: 'yandex_smartcaptcha',
      marks: '.smart-captcha, iframe[src*="smartcaptcha.yandexcloud.net"], .CheckboxCaptcha, .AdvancedCaptcha',
      answers: 'input[name="smart-token"]',
    },
    {kind: 'tencent', marks: '#tcaptcha_iframe, #tcaptcha_transform, iframe[src*="captcha.qq.com"], iframe[src*="captcha.qcloud.com"]'},
    {
      kind: 'aliyun',
      marks: '#nc_1_wrapper, .nc-container, #aliyunCaptcha-window-popup, #aliyunCaptcha-sliding-wrapper',
      done: '.nc-container .btn_ok',
    },
    {
      kind: 'image',
      marks: 'img[src*="captcha" i], img[id*="captcha" i], img[class*="captcha" i], canvas[id*="captcha" i]',
    },
  ];
  const pending = (field) => {
    const value = field.value || '';
    return value === '' || value.startsWith('.');
  };
  let solvedOne = null;
  for (const maker of makers) {
    const marks = every(maker.marks);
    const seen = marks.filter((mark) => maker.quiet || visible(mark));
    if (seen.length === 0) continue;
    const answers = maker.answers ? every(maker.answers) : [];
    const solved = (answers.length > 0 && !answers.some(pending)) || Boolean(maker.done && every(maker.done).length);
    const keyed = marks.find((mark) => mark.dataset && (mark.dataset.sitekey || mark.dataset.pkey));
    const framed = marks.map((mark) => {
      try {
        const query = new URL(mark.src).searchParams;
        return query.get('k') || query.get('sitekey');
      } catch {
        return null;
      }
    }).find(Boolean);
    const place = seen.find(visible);
    const box = place && place.getBoundingClientRect();
    const found = {
      kind: maker.kind,
      solved,
      siteKey: (keyed && (keyed.dataset.sitekey || keyed.dataset.pkey)) || framed || null,
      area: box ? {x: box.x, y: box.y, width: box.width, height: box.height} : null,
    };
    if (!solved) return found;
    solvedOne = solvedOne || found;
  }
  return solvedOne;
}
