import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { maxNoteLength, type Note } from './notes.ts'
import { copyButton, copyScript } from '../../http/pages/copy-button.ts'
import { framePage, readableTime } from './page-frame.ts'

/** A form shown again: the input, and the error. */
export interface FormState {
  email?: string
  error?: string
  /** The sign-in page of the MCP server that a person came from, to go back to. */
  returnTo?: string | undefined
}

/** Renders the first page: an introduction, and the sign-in form. */
export function landingPage(form: FormState): SafeHtml {
  return framePage(
    { title: titled('Sign in', form) },
    html`<div class="welcome">
      <div class="pitch">
        <h1>Jot it down here. Ask for it <em>anywhere</em>.</h1>
        <p>
          Fieldnotes keeps short notes and lets the assistants you choose read and write them. It is the web
          app that Drawbridge signs you in to.
        </p>
        <ul class="samples" aria-hidden="true">
          <li>Drawbridge opens at eight. Bring the long ladder.</li>
          <li>Ask about the third arch before Thursday.</li>
        </ul>
      </div>
      <div class="card stack">
        <h2>Sign in</h2>
        ${errorBox(form)} ${googleForm()}
        <p class="or">or with your password</p>
        <form class="stack" method="post" action="/sign-in">
          ${emailField(form)} ${passwordField(form, 'current-password')}
          <button class="wide">Sign in</button>
        </form>
        <p>New here? <a href="/sign-up">Create an account</a></p>
      </div>
    </div>`,
  )
}

export function signUpPage(form: FormState): SafeHtml {
  return framePage(
    { title: titled('Create an account', form) },
    html`<div class="card stack narrow">
      <h1>Create an account</h1>
      ${errorBox(form)}
      ${
        form.returnTo === undefined &&
        html`${googleForm()}
          <p class="or">or choose a password</p>`
      }
      <form class="stack" method="post" action="/sign-up">
        ${form.returnTo !== undefined && html`<input type="hidden" name="return_to" value="${form.returnTo}" />`}
        ${emailField(form)} ${passwordField(form, 'new-password')}
        <button class="wide">Create account</button>
      </form>
      <p>Have an account? <a href="${form.returnTo ?? '/'}">Sign in</a></p>
    </div>`,
  )
}

export interface ServerLinks {
  mcpUrl: string
  connectionsUrl: string
}

export interface NotesPage {
  email: string
  notes: readonly Note[]
  links: ServerLinks
}

/** Renders the notes of a user, and how to give an assistant access to them. */
export function notesPage({ email, notes, links }: NotesPage): SafeHtml {
  return framePage(
    {
      title: 'Your notes',
      email,
      mcpUrl: links.mcpUrl,
    },
    html`<div class="desk">
      <section aria-labelledby="notes-title">
        <h1 id="notes-title">Your notes</h1>
        <form class="card compose" method="post" action="/notes">
          <div>
            <label for="text">New note</label>
            <textarea
              id="text"
              name="text"
              required
              maxlength="${maxNoteLength}"
              aria-describedby="text-hint"
            ></textarea>
          </div>
          <div class="foot">
            <p class="hint" id="text-hint">Up to ${maxNoteLength.toLocaleString('en')} characters</p>
            <button>Add note</button>
          </div>
        </form>
        ${
          notes.length === 0
            ? html`<div class="card empty">
                <p>No notes yet.</p>
                <p>Add your first note above, or let an assistant add one.</p>
              </div>`
            : html`<ul class="notes">
                ${notes.map(noteItem)}
              </ul>`
        }
      </section>
      ${connectPanel(links)}
    </div>`,
  )
}

export function plainPage(title: string, text: string): SafeHtml {
  return framePage(
    { title },
    html`<div class="card stack plain">
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a href="/">Back to the start</a></p>
    </div>`,
  )
}

function noteItem({ id, text, created_at: createdAt }: Note): SafeHtml {
  const summary = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return html`<li class="card note">
    <p>${text}</p>
    <div class="foot">
      <time datetime="${createdAt}">${readableTime(Date.parse(createdAt) / 1000)}</time>
      <form method="post" action="/notes/delete">
        <input type="hidden" name="id" value="${id}" />
        <button class="link delete" aria-label="Delete note: ${summary}">Delete</button>
      </form>
    </div>
  </li>`
}

function connectPanel({ mcpUrl, connectionsUrl }: ServerLinks): SafeHtml {
  return html`<aside class="card stack connect" aria-labelledby="connect-title">
    <h2 id="connect-title">Connect an assistant</h2>
    <div>
      <p class="label">MCP address</p>
      <div class="address">
        <code id="mcp-url">${mcpUrl}</code>
        ${copyButton('mcp-url', { name: 'Copy the MCP address', label: 'Copy', look: 'secondary' })}
      </div>
    </div>
    <ol>
      <li>Paste this address where your assistant adds a connector or an MCP server.</li>
      <li>Sign in with this account when the browser asks.</li>
      <li>Ask it to list your notes, or to add one.</li>
    </ol>
    <p><a href="${mcpUrl}">Steps for each assistant</a></p>
    <p><a href="${connectionsUrl}">See or end your connections</a></p>
    ${copyScript({ copied: 'Copied', selected: 'Selected' })}
  </aside>`
}

function googleForm(): SafeHtml {
  return html`<form method="post" action="/sign-in/google">
    <button class="quiet wide">Continue with Google</button>
  </form>`
}

function emailField(form: FormState): SafeHtml {
  return html`<div>
    <label for="email">Email</label>
    <input
      id="email"
      name="email"
      type="email"
      required
      maxlength="255"
      autocomplete="username"
      spellcheck="false"
      autocapitalize="none"
      value="${form.email}"
      ${invalidMark(form)}
    />
  </div>`
}

function passwordField(form: FormState, autocomplete: 'current-password' | 'new-password'): SafeHtml {
  const isNew = autocomplete === 'new-password'
  return html`<div>
    <label for="password">Password</label>
    <input
      id="password"
      name="password"
      type="password"
      required
      maxlength="72"
      ${isNew && html`minlength="6"`}
      autocomplete="${autocomplete}"
      ${invalidMark(form, isNew ? 'password-hint' : undefined)}
    />
    ${isNew && html`<p class="hint" id="password-hint">At least 6 characters</p>`}
  </div>`
}

/** Marks an invalid field of a submitted form; an error from a redirect does not concern the fields. */
function invalidMark({ email, error: message }: FormState, hint?: string): SafeHtml {
  const error = email === undefined ? undefined : message
  const described = [error === undefined ? [] : ['error'], hint ?? []].flat().join(' ')
  return html`${error !== undefined && html`aria-invalid="true"`}
  ${described !== '' && html`aria-describedby="${described}"`}`
}

function errorBox({ error }: FormState): SafeHtml | false {
  return error !== undefined && html`<p class="alert" id="error" role="alert">${error}</p>`
}

function titled(title: string, { error }: FormState): string {
  return error === undefined ? title : `Error: ${title}`
}
