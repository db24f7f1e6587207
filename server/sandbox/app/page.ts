import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Context } from 'hono'
import { copyScriptSource } from '../../http/pages/copy-button.ts'
import { formErrorId } from '../../http/pages/form-page.ts'
import { alertBox, contentSecurityPolicy, layout, type PageView } from '../../http/pages/layout.ts'
import { createLook } from '../../http/pages/look.ts'
import { page, pageLanguage } from '../../http/response.ts'
import { Languages } from '../../texts/languages.ts'
import { fillText, type TextsLike } from '../../texts/text.ts'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

/** Every text of the demo app in one language. */
export type AppTexts = TextsLike<typeof en.texts>

const tables: Readonly<Record<string, AppTexts>> = { en: en.texts, de: de.texts }
const languages = new Languages()

// A page with a fold and two lines.
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5a41"/>' +
  '<path d="M9 7h10l5 5v13H9z" fill="#fffdf7"/><path d="M19 7l5 5h-5z" fill="#f3cf5b"/>' +
  '<path d="M12.5 16h8M12.5 20h6" stroke="#1f5a41" stroke-width="1.8" stroke-linecap="round"/></svg>'

const look = createLook({
  appName: 'Fieldnotes',
  logoUrl: `data:image/svg+xml,${encodeURIComponent(icon)}`,
  appAccent: { light: '#1f5a41', dark: '#93d3ac' },
})

/** Contents common to the pages of the demo app. */
export interface DemoView extends PageView {
  texts: AppTexts
  /** Epoch seconds. */
  now: number
}

/** Renders a page of the demo app: the heading and `gate` on the dark side, `main` on the other, and links that all pages have. */
export function appPage(
  view: DemoView,
  parts: {
    title: string
    /** Instead of the title. */
    heading?: string
    about: SafeHtml | string
    gate?: SafeHtml
    head?: SafeHtml
    /** Why the last form failed, for fields described by `formErrorId`. */
    error?: string | undefined
    main: SafeHtml
  },
): string {
  const { title, heading = title, about, gate, head, error, main } = parts
  const { page: texts } = view.texts
  return layout(view, {
    title: error === undefined ? title : fillText(texts.failedTitle, { title }),
    bridge: 'raised',
    head,
    gate: html`<h1>${heading}</h1>
      <p class="ask">${about}</p>
      ${gate}`,
    main: html`<div class="court-inner">
      ${error !== undefined && alertBox(error, formErrorId)} ${main}
      <div class="court-foot">
        <p>${texts.demo}</p>
        <p><a class="link" href="/mail">${texts.mail}</a></p>
      </div>
    </div>`,
  })
}

/**
 * Creates the view of a request, in the language of its browser.
 *
 * @internal
 */
export function createView(request: Request, now: number): DemoView {
  const language = pageLanguage(request, languages)
  return { look, language, texts: tables[language.tag] ?? en.texts, now }
}

/** Responds with a page in the language of the browser. */
export type ShowPage = (c: Context, render: (view: DemoView) => string, status?: number) => Response

/** `mcpOrigin` may be called from the console of a page, with the session cookie; the pages themselves have a script that only copies. */
export function createShowPage({ mcpOrigin, now }: { mcpOrigin: string; now: () => number }): ShowPage {
  const headers = {
    'content-security-policy': contentSecurityPolicy(look, {
      script: [copyScriptSource],
      connect: ["'self'", mcpOrigin],
    }),
    'x-content-type-options': 'nosniff',
  }
  return (c, render, status) => {
    const view = createView(c.req.raw, now())
    const response = page(render(view), view, status, headers)
    // With the cookies that were set before.
    return c.newResponse(response.body, response)
  }
}
