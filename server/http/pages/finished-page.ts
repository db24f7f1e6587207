import { html } from '@drawbridge/shared/html.ts'
import type { BridgePosition } from './drawings.ts'
import { claimedName, hostName } from './names.ts'
import { layout } from './layout.ts'
import type { Look } from './look.ts'

/** Contents of the page after signing in or cancelling. */
export interface FinishedView {
  look: Look
  /** The client's own name: untrusted. */
  clientName: string
  /** The client's redirect URI with the authorization response; contains the code, so it appears in links only. */
  continueUrl: string
  /** Host or scheme that the browser goes to. */
  redirectHost: string
  /** The user cancelled: the client gets `access_denied`, and the page says that access was denied. */
  denied?: boolean
}

/**
 * Renders the way back to a client with a private-use scheme, which a plain redirect does not reach: at once by meta refresh, and
 * by a button for browsers that ask for a click first. Does not check `continueUrl`, a redirect URI that registration accepted and
 * the request matched.
 */
export function finishedPage(view: FinishedView): string {
  const denied = view.denied === true
  return layout({
    look: view.look,
    title: denied ? 'Access denied' : 'Signed in',
    bridge: denied ? 'raised' : 'lowered',
    head: html`<meta http-equiv="refresh" content="0; url=${view.continueUrl}" />`,
    gate: html`<h1>${denied ? 'Access denied' : 'You’re signed in'}</h1>
      <p class="ask">This browser is taking you back to ${hostName(view.redirectHost)}.</p>`,
    main: html`<div class="court-inner">
      <p>
        <a class="button primary" href="${view.continueUrl}"
          >Return to “<bdi>${claimedName(view.clientName)}</bdi>”</a
        >
      </p>
      <p class="quiet">If nothing opens, use the button. Then you can close this tab.</p>
    </div>`,
  })
}

/** Contents of a page that only reports a result. Every text is escaped. */
export interface MessageView {
  look: Look
  title: string
  bridge: BridgePosition
  message: string
  /** What the reader should do now. */
  nextStep: string
  link?: { url: string; label: string }
}

/** Renders a result without a failure: what happened, then what to do. */
export function messagePage(view: MessageView): string {
  return layout({
    look: view.look,
    title: view.title,
    bridge: view.bridge,
    gate: html`<h1>${view.title}</h1>
      <p class="ask">${view.message}</p>`,
    main: html`<div class="court-inner">
      <p>${view.nextStep}</p>
      ${view.link && html`<p><a class="link alone" href="${view.link.url}">${view.link.label}</a></p>`}
    </div>`,
  })
}
