import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Captcha } from '../../core/session/session-provider.ts'
import type { Texts } from '../../texts/built-in.ts'
import { alertBox, type PolicyOpening } from './layout.ts'

// hCaptcha has no theme `auto`. This runs while the page is parsed, before the widget looks for its element.
const themeScript =
  "document.currentScript.previousElementSibling.dataset.theme=matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light'"
const themeHash = `'sha256-${createHash('sha256').update(themeScript).digest('base64')}'`

const hcaptchaHosts = ['https://hcaptcha.com', 'https://*.hcaptcha.com']
const turnstileHosts = ['https://challenges.cloudflare.com']

// `field` has the widget's response. Sources from the vendors' documentation for a Content-Security-Policy.
const vendors = {
  hcaptcha: {
    scriptUrl: 'https://js.hcaptcha.com/1/api.js?recaptchacompat=off',
    className: 'h-captcha',
    field: 'h-captcha-response',
    policy: {
      script: [themeHash, ...hcaptchaHosts],
      frame: hcaptchaHosts,
      style: hcaptchaHosts,
      connect: hcaptchaHosts,
    },
  },
  turnstile: {
    scriptUrl: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
    className: 'cf-turnstile',
    field: 'cf-turnstile-response',
    policy: { script: turnstileHosts, frame: turnstileHosts },
  },
} satisfies Record<Captcha['kind'], { field: string; policy: PolicyOpening; [name: string]: unknown }>

/** Returns the captcha response in a form, of any vendor. */
export function captchaTokenIn(fields: URLSearchParams): string | undefined {
  const found = Object.values(vendors).map(({ field }) => fields.get(field))
  return found.find((token) => token) ?? undefined
}

/** Returns what a page with this captcha must be allowed to load. */
export function captchaPolicy({ kind }: Captcha): PolicyOpening {
  return vendors[kind].policy
}

/** Returns the vendor's script, for the head of the page. */
export function captchaScript({ kind }: Captcha): SafeHtml {
  return html`<script src="${vendors[kind].scriptUrl}" async defer></script>`
}

/**
 * Returns the element that the vendor's script turns into the widget, in the colours of the page. `elsewhere`: there is another way
 * to sign in, which needs no script. Does not check the site key.
 */
export function captchaWidget(
  { kind, siteKey }: Captcha,
  { elsewhere, texts }: { elsewhere: boolean; texts: Texts },
): SafeHtml {
  const { className } = vendors[kind]
  const theme =
    kind === 'turnstile'
      ? html`<div
          class="${className}"
          data-sitekey="${siteKey}"
          data-theme="auto"
          data-size="flexible"
        ></div>`
      : html`<div class="${className}" data-sitekey="${siteKey}"></div>
          ${rawHtml(`<script>${themeScript}</script>`)}`
  return html`<div class="captcha">${theme}</div>
    <noscript>
      ${alertBox(elsewhere ? texts.login.captchaNeedsScriptOr : texts.login.captchaNeedsScript)}
    </noscript>`
}
