import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { alertBox, type AppView, layout } from './layout.ts'
import { alertGlyph } from './drawings.ts'

/** Contents and form target of the page for a device's code. Every text is escaped. */
export interface DeviceEntryView extends AppView {
  /** Absolute path that the form posts to. */
  action: string
  /** Opaque sealed value that ties the form to its browser; sent in a hidden input. */
  form: string
  /** The previous input, or the code from a link. */
  userCode?: string
  /** The code came with the link, not from the user, so it must be compared. */
  fromLink?: boolean
  /** Why the last code was not accepted, as a sentence. */
  error?: string
}

/**
 * Renders the page for entering the code that a device shows (RFC 8628 section 3.3): one large field, which phones open in capitals
 * and without autocorrection. A code from a link is only shown; the user compares it with the device and presses the button
 * (section 3.3.1).
 */
export function deviceEntryPage(view: DeviceEntryView): string {
  const verb = view.fromLink ? 'confirm' : 'enter'
  return layout({
    look: view.look,
    links: view.links,
    title: `${view.error === undefined ? '' : 'Not found: '}Connect a device`,
    bridge: 'lowering',
    gate: html`<h1>Connect a device</h1>
      <p class="ask">
        ${
          view.fromLink
            ? 'A device or program without a browser wants to connect'
            : 'A device or program without a browser shows a code. Enter it here to start connecting it'
        }
        to your account at <bdi>${view.appName}</bdi>.
      </p>
      <p class="warning">
        ${alertGlyph}
        <span
          >Only ${verb} a code that you requested yourself. Never ${verb} one that somebody sent you.</span
        >
      </p>`,
    main: html`<section class="court-inner" aria-labelledby="device-code">
      <div class="heading">
        <h2 id="device-code">
          ${view.fromLink ? 'Is this the code on your device?' : 'Enter the code on your device'}
        </h2>
        ${
          view.fromLink &&
          html`<p class="quiet">
            Compare it with your device, letter by letter. If they differ, close this page.
          </p>`
        }
      </div>
      ${view.error !== undefined && alertBox(view.error, 'code-error')}
      <form method="post" action="${view.action}" class="stack">
        <input type="hidden" name="form" value="${view.form}" />
        ${view.fromLink ? comparedCode(view) : codeField(view)}
        <button class="button primary" type="submit">
          ${view.fromLink ? 'The codes are the same' : 'Continue'}
        </button>
      </form>
      <div class="court-foot">
        <p>This does not give access yet. The next page shows who is asking, and for what.</p>
      </div>
    </section>`,
  })
}

/** Renders a code from a link, with nothing to type. */
function comparedCode({ userCode = '' }: DeviceEntryView): SafeHtml {
  return html`<p class="code user-code compared">${userCode}</p>
    <input type="hidden" name="user_code" value="${userCode}" />`
}

function codeField(view: DeviceEntryView): SafeHtml {
  const described = view.error === undefined ? 'code-hint' : 'code-hint code-error'
  return html`<div class="field">
    <label for="user_code">Code</label>
    <input
      id="user_code"
      class="code user-code"
      name="user_code"
      type="text"
      inputmode="text"
      autocomplete="off"
      autocapitalize="characters"
      autocorrect="off"
      spellcheck="false"
      pattern="[^0-9]{8,60}"
      title="The eight letters shown on the device"
      maxlength="60"
      required
      autofocus
      aria-describedby="${described}"
      value="${view.userCode ?? ''}"
    />
    <p class="quiet" id="code-hint">
      Eight letters, as in <span class="sample">WDJB-MJHT</span>. Lowercase letters and a missing dash are
      fine.
    </p>
  </div>`
}
