import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import type { AppView } from './app-view.ts'
import { type ClientView, hostFact, nameFact } from './client-facts.ts'
import { alertGlyph } from './glyph.ts'
import { permissionList } from './permission-list.ts'

/** A device that waits for somebody to allow it, as the person sees it who typed its code. */
export interface DeviceView {
  kind: 'device'
  client: ClientView
  /** The code that was typed. */
  userCode: string
  /** IP address that the device asked from; undefined when nobody knows it. */
  address: string | undefined
  /** When it asked, in words: `2 minutes ago`. */
  asked: string
  /** What signing in allows, as plain sentences. */
  permissions: readonly string[]
}

/**
 * Decides how a device reads to the person who is to allow it (RFC 8628 section 3.3). Nobody sees the device but that person,
 * so what they can compare comes first, and the warning of remote phishing (section 5.4) stands before what is allowed.
 */
export function deviceSummary(view: DeviceView, { appName }: AppView): SafeHtml {
  return html`<h1>Sign in to allow access for a device</h1>
    <p class="ask">A device or program elsewhere asks to use your account at <bdi>${appName}</bdi>.</p>
    <dl class="facts">
      <div>
        <dt>Code that it must show</dt>
        <dd><span class="host">${view.userCode}</span></dd>
      </div>
      <div>
        <dt>Asked from</dt>
        <dd>
          <span class="address">${view.address ?? 'An address that is not known'}</span>
          <span class="note">${view.asked}</span>
        </dd>
      </div>
      ${hostFact(view.client)} ${nameFact(view.client)}
    </dl>
    <p class="warning">
      ${alertGlyph}
      <span
        >Only go on if you started this yourself, on a device in front of you that shows this code. If
        somebody sent you the code or the link, cancel: they would get into your account.</span
      >
    </p>
    ${permissionList(view.permissions)}`
}
