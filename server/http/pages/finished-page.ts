import { html } from '@drawbridge/shared/html.ts'
import type { BridgePosition } from './drawings.ts'
import { claimedName, hostName } from './names.ts'
import { layout } from './layout.ts'

/** What the page after sign-in, or after cancelling it, shows. */
export interface FinishedView {
  /** What the client calls itself: untrusted. */
  clientName: string
  /** The client's redirect URI with the authorization response; holds the code, so it appears in links only. */
  continueUrl: string
  /** Host or scheme that the browser goes to. */
  redirectHost: string
  /** The person cancelled: the client hears `access_denied`, and the page says that nothing was allowed. */
  denied?: boolean
}

/**
 * Decides how the browser leaves for a client that a plain redirect does not reach (a private-use scheme): at once by
 * meta refresh, and by a button for browsers that ask for a click first.
 * Not checked: `continueUrl`, which is a redirect URI that registration accepted and the request matched.
 */
export function finishedPage(view: FinishedView): string {
  const denied = view.denied === true
  return layout({
    title: denied ? 'Access denied' : 'Signed in',
    bridge: denied ? 'raised' : 'lowered',
    head: html`<meta http-equiv="refresh" content="0; url=${view.continueUrl}" />`,
    main: html`<div class="court-inner">
      <h1>${denied ? 'Access denied' : 'You’re signed in'}</h1>
      <p class="lead">This browser is taking you back to ${hostName(view.redirectHost)}.</p>
      <p>
        <a class="button primary" href="${view.continueUrl}"
          >Return to “<bdi>${claimedName(view.clientName)}</bdi>”</a
        >
      </p>
      <p class="quiet">If nothing opens, use the button. Then you can close this tab.</p>
    </div>`,
  })
}

/** What a page shows that only tells how something ended. Every text is escaped. */
export interface MessageView {
  title: string
  bridge: BridgePosition
  message: string
  /** What the reader does now. */
  nextStep: string
  /** A way on, where there is one. */
  link?: { url: string; label: string }
}

/** Decides how an end that is no failure reads: what is so now, then what to do. */
export function messagePage(view: MessageView): string {
  return layout({
    title: view.title,
    bridge: view.bridge,
    main: html`<div class="court-inner">
      <h1>${view.title}</h1>
      <p class="lead">${view.message}</p>
      <p>${view.nextStep}</p>
      ${view.link && html`<p><a class="link alone" href="${view.link.url}">${view.link.label}</a></p>`}
    </div>`,
  })
}
