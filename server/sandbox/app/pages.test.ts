import { describe, expect, it } from 'vitest'
import { landingPage, notesPage, plainPage, signUpPage } from './pages.ts'

const HOSTILE = `"><script>alert(1)</script>&'`
const NOTE = { id: 'abc', text: 'one', created_at: '2027-01-15T08:00:00.000Z' }

const links = {
  mcpUrl: 'http://localhost:8787/mcp',
  connectionsUrl: 'http://localhost:8787/account/connections',
}
const PAGES = {
  landing: landingPage({}, 'You are signed out.').toString(),
  'landing with an error': landingPage({ email: HOSTILE, error: HOSTILE }, HOSTILE).toString(),
  'sign-up': signUpPage({}).toString(),
  'sign-up with an error': signUpPage({ email: HOSTILE, error: HOSTILE }).toString(),
  notes: notesPage({
    email: HOSTILE,
    notes: [{ ...NOTE, id: HOSTILE, text: HOSTILE }],
    links: { mcpUrl: HOSTILE, connectionsUrl: HOSTILE },
  }).toString(),
  'notes with a draft': notesPage({
    email: 'a@b',
    notes: [],
    links,
    draft: { text: `</textarea>${HOSTILE}`, error: HOSTILE },
  }).toString(),
  plain: plainPage(HOSTILE, HOSTILE).toString(),
}

describe.each(Object.entries(PAGES))('the page: %s', (_name, page) => {
  it('shows hostile text as text', () => {
    expect(page).not.toContain('<script>alert')
    expect(page.match(/<\/textarea/g)?.length ?? 0).toBeLessThanOrEqual(1)
  })

  it('has a language, a title, one main part and one first heading', () => {
    expect(page).toContain('<html lang="en">')
    expect(page).toMatch(/<title>[^<]+ - Fieldnotes<\/title>/)
    expect(page.match(/<main/g)).toHaveLength(1)
    expect(page.match(/<h1/g)).toHaveLength(1)
  })

  it('labels every field that people see', () => {
    const fields = [...page.matchAll(/<(?:input|textarea)\b[^>]*>/g)].map(([tag]) => tag)
    for (const field of fields.filter((tag) => !tag.includes('type="hidden"'))) {
      const id = /\bid="([^"]+)"/.exec(field)?.[1] ?? ''
      expect(page).toContain(`<label for="${id}">`)
    }
  })

  it('points to descriptions that exist, and gives each id once', () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, list = ''] of page.matchAll(/aria-(?:describedby|labelledby)="([^"]+)"/g)) {
      for (const id of list.trim().split(/\s+/)) expect(ids).toContain(id)
    }
  })

  it('sends its forms by POST to the app itself', () => {
    for (const [form] of page.matchAll(/<form\b[^>]*>/g))
      expect(form).toMatch(/method="post" action="\/[a-z]/)
  })
})

describe('fields', () => {
  it.each([
    { page: PAGES.landing, id: 'email', attributes: ['type="email"', 'autocomplete="username"', 'required'] },
    {
      page: PAGES.landing,
      id: 'password',
      attributes: ['type="password"', 'autocomplete="current-password"', 'required'],
    },
    {
      page: PAGES['sign-up'],
      id: 'email',
      attributes: ['type="email"', 'autocomplete="username"', 'required'],
    },
    {
      page: PAGES['sign-up'],
      id: 'password',
      attributes: ['autocomplete="new-password"', 'minlength="6"', 'aria-describedby="password-hint"'],
    },
    {
      page: PAGES['landing with an error'],
      id: 'email',
      attributes: ['aria-invalid="true"', 'aria-describedby="error"'],
    },
    {
      page: PAGES['sign-up with an error'],
      id: 'password',
      attributes: ['aria-invalid="true"', 'aria-describedby="error password-hint"'],
    },
    {
      page: PAGES.notes,
      id: 'text',
      attributes: ['maxlength="2000"', 'required', 'aria-describedby="text-hint"', 'aria-invalid="false"'],
    },
    {
      page: PAGES['notes with a draft'],
      id: 'text',
      attributes: ['aria-invalid="true"', 'aria-describedby="error text-hint"'],
    },
  ])('$id carries $attributes', ({ page, id, attributes }) => {
    const tag = [...page.matchAll(/<(?:input|textarea)\b[^>]*>/g)]
      .map(([text]) => text)
      .find((text) => text.includes(`id="${id}"`))
    for (const attribute of attributes) expect(tag).toContain(attribute)
  })

  it('are not called wrong when a redirect brought the error', () => {
    const page = landingPage({ error: 'Google sign-in was cancelled.' }).toString()
    expect(page).toContain('role="alert"')
    expect(page).not.toContain('aria-invalid="')
  })
})

it('announces its MCP server to programs that the person uses on the page', () => {
  const page = notesPage({ email: 'a@b', notes: [], links }).toString()
  expect(/<head>(.*?)<\/head>/s.exec(page)?.[1]).toContain(
    '<link rel="mcp-server" href="http://localhost:8787/mcp" />',
  )
  expect(landingPage({}).toString()).not.toContain('mcp-server')
})

it('leads on to the steps for each assistant and to one’s connections', () => {
  const page = notesPage({ email: 'a@b', notes: [], links }).toString()
  expect(page).toContain('<a href="http://localhost:8787/mcp">')
  expect(page).toContain('<a href="http://localhost:8787/account/connections">')
})

describe('a note', () => {
  it('is shown with its time, and its button says which note it deletes', () => {
    const text = 'x'.repeat(50)
    const page = notesPage({ email: 'a@b', notes: [{ ...NOTE, text }], links }).toString()
    expect(page).toMatch(/<time datetime="2027-01-15T08:00:00.000Z">\s*15 Jan 2027, 08:00 UTC\s*<\/time>/)
    expect(page).toContain(`aria-label="Delete note: ${'x'.repeat(40)}…"`)
  })

  it('keeps its spaces and lines exactly', () => {
    const page = notesPage({ email: 'a@b', notes: [{ ...NOTE, text: 'a\n  b' }], links }).toString()
    expect(page).toContain('<p>a\n  b</p>')
  })
})
