import { describe, expect, it } from 'vitest'
import { createView, type DemoView } from './page.ts'
import { landingPage, messagePage, notesPage, signUpPage } from './pages.ts'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

const hostile = `"><script>alert(1)</script>&'`
const note = { id: 'abc', text: 'one', created_at: '2027-01-15T08:00:00.000Z' }
const now = Date.parse(note.created_at) / 1000 + 7200

const viewIn = (language: string): DemoView =>
  createView(new Request('http://localhost:8788/', { headers: { 'accept-language': language } }), now)
const english = viewIn('en')

const baseUrl = 'http://localhost:8787'
const pages = {
  landing: landingPage(english, {}),
  'landing with an error': landingPage(english, { email: hostile, error: 'invalid_credentials' }),
  'sign-up': signUpPage(english, {}),
  'sign-up with an error': signUpPage(english, { email: hostile, error: 'weak_password', returnTo: hostile }),
  notes: notesPage(english, {
    email: hostile,
    notes: [{ ...note, id: hostile, text: hostile }],
    baseUrl: hostile,
  }),
  message: messagePage(english, 'notAdded'),
}

describe.each(Object.entries(pages))('the %s page of the demo app', (_name, page) => {
  it('a page of the demo app shows hostile text as text', () => {
    expect(page).not.toContain('<script>alert')
    expect(page.match(/<\/textarea/g)?.length ?? 0).toBeLessThanOrEqual(1)
  })

  it('a page of the demo app sends its forms by POST to the app itself', () => {
    for (const [form] of page.matchAll(/<form\b[^>]*>/g))
      expect(form).toMatch(/method="post" action="\/[a-z]/)
  })
})

it('both fields of a refused form are marked, and refer to the alert', () => {
  const page = landingPage(english, { email: 'a@b', error: 'invalid_credentials' })
  expect(page).toContain('id="form-error"')
  expect(page.match(/aria-invalid="true"\s+aria-describedby="form-error"/g)).toHaveLength(2)
})

it('a form of the demo app marks no field as wrong when a redirect brought the error', () => {
  const page = landingPage(english, { error: 'access_denied' })
  expect(page).toContain('role="alert"')
  expect(page).not.toContain('aria-invalid="')
})

it('the notes page announces its MCP server to programs, and links to the steps for each assistant and the connections', () => {
  const page = notesPage(english, { email: 'a@b', notes: [], baseUrl })
  expect(/<head>(.*?)<\/head>/s.exec(page)?.[1]).toContain(
    '<link rel="mcp-server" href="http://localhost:8787/mcp" />',
  )
  expect(landingPage(english, {})).not.toContain('mcp-server')
  expect(page).toContain('href="http://localhost:8787/mcp">Steps for each assistant</a>')
  expect(page).toContain('href="/connections">Connected assistants</a>')
})

it('a note is shown with its time, and its button says which note it deletes', () => {
  const page = notesPage(english, { email: 'a@b', notes: [{ ...note, text: 'x'.repeat(50) }], baseUrl })
  expect(page).toMatch(/datetime="2027-01-15T08:00:00.000Z">\s*2 hours ago\s*<\/time/)
  expect(page).toContain(`aria-label="Delete note: ${'x'.repeat(40)}…"`)
})

it('the texts of the demo app have the same keys and the same names in braces in both languages', () => {
  const namesIn = (table: object): object =>
    Object.fromEntries(
      Object.entries(table).map(([key, value]: [string, string | object]) => [
        key,
        typeof value === 'string' ? (value.match(/\{\w+\}/g) ?? []).toSorted() : namesIn(value),
      ]),
    )
  expect([en.language, de.language]).toEqual(['en', 'de'])
  expect(namesIn(de.texts)).toEqual(namesIn(en.texts))
})

it.each([
  ['en', '1 to 2,000 characters.'],
  ['de-AT,de;q=0.9', '1 bis 2.000 Zeichen.'],
  ['fr', '1 to 2,000 characters.'],
])('a page of the demo app for a browser with Accept-Language %s says "%s"', (language, text) => {
  expect(messagePage(viewIn(language), 'notAdded')).toContain(text)
})
