import { createHash } from 'node:crypto'
import { clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { html } from '@drawbridge/shared/html.ts'
import { describe, expect, it } from 'vitest'
import { connectPage, connectPolicy } from './connect-page.ts'
import { connectSample, plainLook, plainPolicy } from '../../../tests/support/pages/view-sample.ts'

const escaped = (text: string): string => String(html`${text}`)

describe('the ways in', () => {
  const page = connectPage(connectSample)
  const server = { name: 'example-notes', url: connectSample.url }

  it.each(Object.values(clientTable).filter(({ ways }) => ways.length > 0))(
    'the connect page has the ways in of $name',
    ({ name, ways: [way] }) => {
      const text = escaped(way?.text(server) ?? '')
      expect(page).toContain(
        way?.kind === 'link' ? `href="${text}" aria-label="Add to ${name}">${name}</a>` : `>${text}</code>`,
      )
    },
  )

  it('entries on the connect page are named after the host if the app has no name', () => {
    const host = new URL(connectSample.appUrl).host
    expect(connectPage({ ...connectSample, appName: host })).toContain(
      `claude mcp add --transport http example-com ${connectSample.url}`,
    )
  })

  it('the connect page lists the tools that need no sign-in', () => {
    expect(page).not.toContain('Tools that need no sign-in')
    const open = connectPage({ ...connectSample, publicTools: new Set(['search', 'help']) })
    expect(open).toMatch(/<li><code>search<\/code><\/li>\s*<li><code>help<\/code><\/li>/)
    const commands = (shown: string): string[] =>
      [...shown.matchAll(/>(?:opencode|gemini) mcp add [^<]*/g)].map(([text]) =>
        text.includes('sign-in') ? 'always challenges' : 'plain',
      )
    // Gemini, then opencode.
    expect([commands(page), commands(open)]).toEqual([
      ['plain', 'plain'],
      ['plain', 'always challenges'],
    ])
  })

  it('the connect page leaves out clients without a way to add a server by hand', () => {
    expect(page).not.toContain('Devin')
  })

  it('the connect page links to the connections and to the app', () => {
    expect(page).toContain('href="/account/connections"')
    expect(page).toContain(`href="${connectSample.appUrl}"`)
  })

  it('the connect page marks hosted clients as unreachable for a local address', () => {
    const note = /calls over the internet and cannot reach this computer/g
    expect(page).not.toMatch(note)
    const local = connectPage({ ...connectSample, url: 'http://localhost:8787/mcp', isLocal: true })
    expect(local.match(note)).toHaveLength(2)
    expect(local).toContain('Only programs on this computer can reach it.')
    // And comes last.
    const names = (text: string): string[] =>
      [...text.matchAll(/<summary>\s*<span>([^<]+)/g)].map(([, name = '']) => name)
    expect(names(page).slice(0, 2)).toEqual(['Claude', 'ChatGPT'])
    expect(names(local).slice(-2)).toEqual(['Claude', 'ChatGPT'])
  })
})

describe('scripts', () => {
  const page = connectPage(connectSample)

  it('the connect page has one script, and its policy adds only the hash of that', () => {
    const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)]
    expect(scripts).toHaveLength(1)
    const hash = createHash('sha256')
      .update(scripts[0]?.[1] ?? '')
      .digest('base64')
    expect(connectPolicy(plainLook).replace(` script-src 'sha256-${hash}';`, '')).toBe(plainPolicy)
  })

  it('copy buttons are hidden without scripts, and name an existing element', () => {
    const buttons = [...page.matchAll(/<button[^>]*>/g)].map(([tag]) => tag)
    expect(buttons).toHaveLength(12)
    for (const tag of buttons) {
      expect(tag).toMatch(/\shidden\s*>$/)
      const [, source] = /data-copies="([^"]+)"/.exec(tag) ?? []
      expect(page).toContain(`<code id="${source}"`.replace('id="address"', 'class="host" id="address"'))
    }
  })
})
