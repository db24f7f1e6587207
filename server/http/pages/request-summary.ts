import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import type { AppView } from './app-view.ts'
import { type ClientView, hostFact, nameFact } from './client-facts.ts'
import { alertGlyph } from './glyph.ts'
import { hostName } from './host-name.ts'
import { permissionList } from './permission-list.ts'

/** Who asks for access, where the browser returns to, and what is asked for. */
export interface RequestView {
  kind: 'authorization'
  client: ClientView
  /** Host (or scheme) that the browser returns to; an international host in its ASCII form. */
  redirectHost: string
  /** The redirect URI is loopback: any program on the computer could be asking. */
  returnsToThisComputer: boolean
  /** What signing in allows, as plain sentences. */
  permissions: readonly string[]
}

/**
 * Decides how an authorization request reads to the person who is to allow it: proven facts large, in the order
 * verified host, return address; then what the client calls itself, small and quoted; then what signing in allows.
 */
export function requestSummary(view: RequestView, { appName }: AppView): SafeHtml {
  return html`<h1>Sign in to allow access</h1>
    <p class="ask">An app asks to use your account at <bdi>${appName}</bdi>.</p>
    <dl class="facts">
      ${hostFact(view.client)}
      <div>
        <dt>Returns to</dt>
        <dd>
          ${hostName(view.redirectHost)}${view.returnsToThisComputer ? html` <span class="note">on this computer</span>` : ''}
        </dd>
      </div>
      ${nameFact(view.client)}
    </dl>
    ${
      view.returnsToThisComputer
        ? html`<p class="warning">
            ${alertGlyph} <span>A program on this computer is asking. Go on only if you started it.</span>
          </p>`
        : ''
    }
    ${permissionList(view.permissions)}`
}
