import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { copyButton, copyScript } from '../../http/pages/copy-button.ts'
import { formErrorId, textField } from '../../http/pages/form-page.ts'
import { aloneLink, headingWith } from '../../http/pages/layout.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { maxNoteLength, type Note } from './notes.ts'
import { appPage, type AppTexts, type DemoView } from './page.ts'

/** Why a sign-in or sign-up failed: the key of its text. */
export type Failure = keyof AppTexts['failures']

/** A form shown again: the input, and the error. */
export interface FormState {
  email?: string
  error?: Failure
  /** The sign-in page of the MCP server that a person came from, to go back to. */
  returnTo?: string | undefined
}

/** Renders the first page: an introduction, and the sign-in form. */
export function landingPage(view: DemoView, form: FormState): string {
  const { signIn: texts, signUp, failures } = view.texts
  return appPage(view, {
    title: texts.title,
    heading: texts.pitch,
    about: texts.about,
    error: form.error && failures[form.error],
    main: html`<h2>${texts.title}</h2>
      <form class="stack" method="post" action="/sign-in">
        ${emailField(view, form)} ${passwordField(view, form, 'current-password')}
        <button class="button primary">${texts.title}</button>
      </form>
      ${googleForm(view)}
      <p>
        ${fillHtml(texts.newHere, { create: html`<a class="link" href="/sign-up">${signUp.title}</a>` })}
      </p>`,
  })
}

/** Renders the form for a new account. Google is not offered to a person on the way back to `returnTo`: it would not lead there. */
export function signUpPage(view: DemoView, form: FormState): string {
  const { signIn, signUp: texts, failures } = view.texts
  const { returnTo } = form
  return appPage(view, {
    title: texts.title,
    about: texts.about,
    error: form.error && failures[form.error],
    main: html`<form class="stack" method="post" action="/sign-up">
        ${returnTo !== undefined && html`<input type="hidden" name="return_to" value="${returnTo}" />`}
        ${emailField(view, form)} ${passwordField(view, form, 'new-password')}
        <button class="button primary">${texts.create}</button>
      </form>
      ${returnTo === undefined && googleForm(view)}
      <p>
        ${fillHtml(texts.haveAccount, {
          signIn: html`<a class="link" href="${returnTo ?? '/'}">${signIn.title}</a>`,
        })}
      </p>`,
  })
}

/** Renders the notes of a user, and how to give an assistant access to them. Announces the MCP server to programs used on this page. */
export function notesPage(
  view: DemoView,
  { email, notes, baseUrl }: { email: string; notes: readonly Note[]; baseUrl: string },
): string {
  const mcpUrl = `${baseUrl}/mcp`
  const { notes: texts } = view.texts
  const { connect } = view.language.texts
  const hint = fillText(texts.hint, { count: noteLengthIn(view) })
  return appPage(view, {
    title: texts.title,
    about: fillHtml(texts.signedIn, { email: html`<bdi>${email}</bdi>` }),
    head: html`<link rel="mcp-server" href="${mcpUrl}" />`,
    gate: html`<form class="gate-form" method="post" action="/sign-out">
        <button class="button on-gate">${texts.signOut}</button>
      </form>
      <div class="mcp-address">
        <h2 class="allows">${texts.address}</h2>
        <p class="address-line">
          <code class="host" id="mcp-url">${mcpUrl}</code>
          ${copyButton('mcp-url', { name: texts.copyAddress, label: connect.copy, look: 'on-gate' })}
        </p>
        <p class="ask">${texts.connect}</p>
        <p class="ask"><a class="link alone" href="${mcpUrl}">${texts.assistants}</a></p>
        <p class="ask"><a class="link alone" href="/connections">${view.texts.connections.title}</a></p>
      </div>`,
    main: html`<form class="stack" method="post" action="/notes">
        <div class="field">
          <label for="text">${texts.new}</label>
          <textarea
            id="text"
            name="text"
            rows="4"
            required
            maxlength="${maxNoteLength}"
            aria-describedby="text-hint"
          ></textarea>
          <p class="quiet" id="text-hint">${hint}</p>
        </div>
        <button class="button primary">${texts.add}</button>
      </form>
      ${
        notes.length === 0
          ? headingWith(texts.none, texts.noneNote)
          : html`<ul class="connections">
              ${notes.map((note) => noteItem(view, note))}
            </ul>`
      }
      ${copyScript(connect)}`,
  })
}

/** Renders a page that only says something; `{count}` in its text is the greatest length of a note. */
export function messagePage(view: DemoView, message: keyof AppTexts['errors']): string {
  const { title, text } = view.texts.errors[message]
  return appPage(view, {
    title,
    about: fillText(text, { count: noteLengthIn(view) }),
    main: aloneLink('/', view.texts.page.start),
  })
}

function noteLengthIn({ language }: DemoView): string {
  return maxNoteLength.toLocaleString(language.tag)
}

function noteItem(
  { language, now, texts: { notes: texts } }: DemoView,
  { id, text, created_at: createdAt }: Note,
): SafeHtml {
  const start = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return html`<li class="connection">
    <p class="text">${text}</p>
    <form class="address-line" method="post" action="/notes/delete">
      <time class="quiet" datetime="${createdAt}">${language.ago(Date.parse(createdAt) / 1000, now)}</time>
      <input type="hidden" name="id" value="${id}" />
      <button class="button end" aria-label="${fillText(texts.deleteNote, { text: start })}">
        ${texts.delete}
      </button>
    </form>
  </li>`
}

function googleForm({ texts: { signIn } }: DemoView): SafeHtml {
  return html`<p class="or"><span>${signIn.or}</span></p>
    <form method="post" action="/sign-in/google">
      <button class="button secondary">${signIn.google}</button>
    </form>`
}

function emailField({ texts: { signIn } }: DemoView, form: FormState): SafeHtml {
  const attributes = html`type="email" required maxlength="255" autocomplete="username" spellcheck="false"
  autocapitalize="none" value="${form.email}" ${invalidMark(form)}`
  return textField('email', signIn.email, attributes)
}

function passwordField(
  { texts: { signIn, signUp } }: DemoView,
  form: FormState,
  autocomplete: 'current-password' | 'new-password',
): SafeHtml {
  const isNew = autocomplete === 'new-password'
  const attributes = html`type="password" required maxlength="72" ${isNew && html`minlength="6"`}
  autocomplete="${autocomplete}" ${invalidMark(form, isNew ? 'password-hint' : undefined)}`
  return textField('password', signIn.password, attributes, isNew ? signUp.hint : undefined)
}

/** Marks an invalid field of a submitted form; an error from a redirect does not concern the fields. */
function invalidMark({ email, error }: FormState, hint?: string): SafeHtml {
  const isWrong = email !== undefined && error !== undefined
  const described = [isWrong ? formErrorId : [], hint ?? []].flat().join(' ')
  return html`${isWrong && html`aria-invalid="true"`}
  ${described !== '' && html`aria-describedby="${described}"`}`
}
