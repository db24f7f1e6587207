import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import { claimedName } from './claimed-name.ts'
import { alertGlyph, checkGlyph } from './glyph.ts'
import { hostName, hostOf } from './host-name.ts'

/** Who asks for access, where the browser returns to, and what is asked for. */
export interface RequestView {
  /** Who asks. `name` and `uri` are the client's own claims; `verifiedHost` is set only when proven. */
  client: { name: string; uri?: string; verifiedHost?: string }
  /** Host (or scheme) that the browser returns to; an international host in its ASCII form. */
  redirectHost: string
  /** Every redirect URI of the client is loopback: any program on the computer could be asking. */
  returnsToThisComputer: boolean
  /** What signing in allows, as plain sentences. */
  permissions: readonly string[]
  /** The web application whose accounts sign in, and where accounts are created. */
  appUrl: string
}

/**
 * Decides how an authorization request reads to the person who is to allow it: proven facts large, in the order
 * verified host, return address; then what the client calls itself, small and quoted; then what signing in allows.
 */
export function requestSummary(view: RequestView): SafeHtml {
  const { verifiedHost } = view.client
  return html`<h1>Sign in to allow access</h1>
    <p class="ask">An app asks to use your account at <bdi>${hostOf(view.appUrl)}</bdi>.</p>
    <dl class="facts">
      ${
        verifiedHost === undefined
          ? ''
          : html`<div>
              <dt>Asked for by</dt>
              <dd>
                ${hostName(verifiedHost)}
                <span class="note">${checkGlyph} Verified address</span>
              </dd>
            </div>`
      }
      <div>
        <dt>Returns to</dt>
        <dd>
          ${hostName(view.redirectHost)}${view.returnsToThisComputer ? html` <span class="note">on this computer</span>` : ''}
        </dd>
      </div>
      <div>
        <dt>Calls itself</dt>
        <dd class="claim">
          “<bdi>${claimedName(view.client.name)}</bdi>”${verifiedHost === undefined ? html` <span class="note">Nobody has checked this name</span>` : ''}
        </dd>
      </div>
    </dl>
    ${
      view.returnsToThisComputer
        ? html`<p class="warning">
            ${alertGlyph} <span>A program on this computer is asking. Go on only if you started it.</span>
          </p>`
        : ''
    }
    ${
      view.permissions.length === 0
        ? ''
        : html`<h2 class="allows">What signing in allows</h2>
            <ul class="permissions">
              ${view.permissions.map((sentence) => html`<li>${sentence}</li>`)}
            </ul>`
    }`
}

/** A link to the client's own page, given only when it lies on the host that was proven to be the client's. */
export function aboutClient(client: RequestView['client']): SafeHtml | false {
  if (client.uri === undefined || client.verifiedHost === undefined || !URL.canParse(client.uri)) return false
  const page = new URL(client.uri)
  if (page.protocol !== 'https:' || page.host !== client.verifiedHost) return false
  return html`<p><a class="link alone" href="${page.href}" rel="noreferrer">About ${page.host}</a></p>`
}
