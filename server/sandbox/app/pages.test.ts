import { describe, expect, it } from 'vitest'
import { landingPage, notesPage, plainPage, signUpPage } from './pages.ts'

const HOSTILE = `"><script>alert(1)</script>&'`
const NOTE = { id: 'abc', text: 'one', created_at: '2027-01-15T08:00:00.000Z' }

const links = {
  mcpUrl: 'http://localhost:8787/mcp',
  connectionsUrl: 'http://localhost:8787/account/connections',
}
const PAGES = {
  landing: landingPage({}).toString(),
  'landing with an error': landingPage({ email: HOSTILE, error: HOSTILE }).toString(),
  'sign-up': signUpPage({}).toString(),
  'sign-up with an error': signUpPage({ email: HOSTILE, error: HOSTILE }).toString(),
  notes: notesPage({
    email: HOSTILE,
    notes: [{ ...NOTE, id: HOSTILE, text: HOSTILE }],
    links: { mcpUrl: HOSTILE, connectionsUrl: HOSTILE },
  }).toString(),
  plain: plainPage(HOSTILE, HOSTILE).toString(),
}

describe.each(Object.entries(PAGES))('the page: %s', (_name, page) => {
  it('shows hostile text as text', () => {
    expect(page).not.toContain('<script>alert')
    expect(page.match(/<\/textarea/g)?.length ?? 0).toBeLessThanOrEqual(1)
  })

  it('sends its forms by POST to the app itself', () => {
    for (const [form] of page.matchAll(/<form\b[^>]*>/g))
      expect(form).toMatch(/method="post" action="\/[a-z]/)
  })
})

it('fields are not called wrong when a redirect brought the error', () => {
  const page = landingPage({ error: 'Google sign-in was cancelled.' }).toString()
  expect(page).toContain('role="alert"')
  expect(page).not.toContain('aria-invalid="')
})

it('announces its MCP server to programs, and leads on to the steps for each assistant and to one’s connections', () => {
  const page = notesPage({ email: 'a@b', notes: [], links }).toString()
  expect(/<head>(.*?)<\/head>/s.exec(page)?.[1]).toContain(
    '<link rel="mcp-server" href="http://localhost:8787/mcp" />',
  )
  expect(landingPage({}).toString()).not.toContain('mcp-server')
  expect(page).toContain('<a href="http://localhost:8787/mcp">')
  expect(page).toContain('<a href="http://localhost:8787/account/connections">')
})

it('a note is shown with its time, and its button says which note it deletes', () => {
  const text = 'x'.repeat(50)
  const page = notesPage({ email: 'a@b', notes: [{ ...NOTE, text }], links }).toString()
  expect(page).toMatch(/<time datetime="2027-01-15T08:00:00.000Z">\s*15 Jan 2027, 08:00 UTC\s*<\/time>/)
  expect(page).toContain(`aria-label="Delete note: ${'x'.repeat(40)}…"`)
})
