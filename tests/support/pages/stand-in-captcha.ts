import type { HTTPRequest, Page } from 'puppeteer-core'
import type { Captcha } from '../../../server/core/session/session-provider.ts'

/** The token that the stand-in widget puts into the form once pressed. */
export const standInToken = 'stand-in-captcha-token'

/** Hosts, container class and field of the real widgets. */
const widgets: Readonly<Record<Captcha['kind'], { host: string; className: string; field: string }>> = {
  hcaptcha: {
    host: 'https://newassets.hcaptcha.com',
    className: 'h-captcha',
    field: 'h-captcha-response',
  },
  turnstile: {
    host: 'https://challenges.cloudflare.com',
    className: 'cf-turnstile',
    field: 'cf-turnstile-response',
  },
}

// Like the real ones: a frame of the vendor's in its fixed size, which reports to the script that created it.
// hCaptcha also loads a stylesheet and calls its API from the page.
const widgetScript = ({ host, className, field }: (typeof widgets)['hcaptcha'], extras: boolean): string => `
document.querySelectorAll('.${className}').forEach((slot) => {
  const frame = document.createElement('iframe')
  const response = Object.assign(document.createElement('textarea'), { name: '${field}' })
  response.style.display = 'none'
  const theme = slot.dataset.theme === 'auto' ? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light') : slot.dataset.theme
  frame.src = '${host}/frame.html#' + theme
  frame.title = 'Widget to check that you are a person'
  frame.style.cssText = 'border:0;display:block;height:' + (slot.dataset.size === 'flexible' ? '65px;min-width:300px;width:100%' : '78px;width:303px')
  slot.append(frame, response)
  addEventListener('message', ({ data }) => { response.value = data })
})
${
  extras
    ? `document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '${host}/widget.css' }))
fetch('https://api.hcaptcha.com/checksiteconfig')`
    : ''
}`

const frameHtml = `<!doctype html><html lang="en"><title>Stand-in</title><style>
:root{color-scheme:light dark}body{margin:0;font:14px sans-serif}
button{box-sizing:border-box;width:100%;height:100vh;border:1px solid #888;background:#fafafa;color:#222;text-align:left;padding:0 16px;font:inherit}
.dark button{background:#222;color:#eee}</style>
<button>&#9744; I am a person (stand-in)</button>
<script>document.documentElement.className=location.hash.slice(1)
document.querySelector('button').onclick=(event)=>{event.target.textContent='\\u2611 I am a person (stand-in)';parent.postMessage('${standInToken}','*')}</script>`

/**
 * Answers requests of `page` to a captcha vendor, so that no network is needed, and lets everything else through.
 * Call it before opening the page. The page's own policy stays in force: requests that it blocks never arrive here.
 */
export async function standInForCaptcha(page: Page): Promise<void> {
  await page.setRequestInterception(true)
  page.on('request', (request) => void answer(request))
}

async function answer(request: HTTPRequest): Promise<void> {
  const { hostname, pathname } = new URL(request.url())
  const kind =
    hostname === 'hcaptcha.com' || hostname.endsWith('.hcaptcha.com')
      ? 'hcaptcha'
      : hostname === 'challenges.cloudflare.com'
        ? 'turnstile'
        : undefined
  if (!kind) return request.continue()
  const headers = { 'access-control-allow-origin': '*' }
  if (pathname.endsWith('.js')) {
    return request.respond({
      headers,
      contentType: 'text/javascript',
      body: widgetScript(widgets[kind], kind === 'hcaptcha'),
    })
  }
  if (pathname.endsWith('.html'))
    return request.respond({ headers, contentType: 'text/html', body: frameHtml })
  if (pathname.endsWith('.css')) return request.respond({ headers, contentType: 'text/css', body: '' })
  return request.respond({ headers, contentType: 'application/json', body: '{}' })
}
