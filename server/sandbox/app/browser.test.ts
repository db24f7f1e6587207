import { once } from 'node:events'
import { serve, type ServerType } from '@hono/node-server'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findViolations, loadAxe } from '../../../tests/support/axe.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { freePort } from '../../../tests/support/server/free-port.ts'
import {
  findChromium,
  startChromium,
  type RunningChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { createSandbox, type Sandbox } from '../sandbox.ts'

const chromium = findChromium()

const longWord = 'W'.repeat(200)
const created_at = new Date().toISOString()
const connections = [
  {
    id: 'one',
    client: { name: 'Quill' },
    scope: 'mcp notes:read notes:write',
    workspace: null,
    created_at,
    last_used_at: null,
    last_tool: null,
  },
  {
    id: 'two',
    client: { name: longWord },
    scope: `mcp ${longWord}`,
    workspace: { name: longWord },
    created_at,
    last_used_at: created_at,
    last_tool: longWord,
  },
]

const asked = {
  purpose: 'client',
  sentences: [`An app that calls itself “${longWord}” wants to use your account.`, 'It returns to you.'],
  scopes: [
    { value: 'mcp', text: 'Use the tools', fixed: true },
    { value: 'notes:write', text: longWord, fixed: false },
  ],
}
const unanswered = {
  error: 'workspace_required',
  error_description: 'Which workspace?',
  workspaces: [
    { id: 'one', name: longWord },
    { id: 'two', name: 'Two' },
  ],
}

describe.skipIf(chromium === undefined)('the demo app in Chromium', () => {
  let site = ''
  let server: ServerType
  let sandbox: Sandbox
  let running: RunningChromium

  beforeAll(async () => {
    const port = await freePort()
    site = `http://localhost:${port}`
    const config = {
      appUrl: site,
      providerUrl: `${site}/auth/v1`,
      baseUrl: 'http://localhost:8787',
      cookieName: 'sb-localhost-auth-token',
      tokenTtlSeconds: 3600,
      database: ':memory:',
    }
    const runtime = createFakeRuntime()
    // Drawbridge, as far as the app sees it.
    const fetchDrawbridge = async (request: Request): Promise<Response> => {
      const isAsked = request.url.includes('/oauth/app')
      if (request.method === 'GET') return Response.json(isAsked ? asked : { connections })
      return isAsked ? Response.json(unanswered, { status: 400 }) : new Response('{}')
    }
    sandbox = createSandbox(config, { ...runtime, fetch: fetchDrawbridge })
    server = serve({ hostname: '127.0.0.1', port, fetch: (request) => sandbox.fetch(request) })
    await once(server, 'listening')
  })
  beforeAll(async () => {
    running = await startChromium(chromium ?? '')
  })
  afterAll(async () => {
    await running.close()
    server.close()
    sandbox.close()
  })

  async function openPage(): Promise<{ page: Page; close: () => Promise<void>; blocked: string[] }> {
    const context = await running.browser.createBrowserContext()
    const page = await context.newPage()
    const blocked: string[] = []
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) blocked.push(message.text())
    })
    await look(page, 'light', 1200)
    return { page, close: () => context.close(), blocked }
  }

  async function look(page: Page, scheme: 'light' | 'dark', width: number): Promise<void> {
    await page.setViewport({ width, height: 800 })
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      // Otherwise colours are looked at on their way.
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ])
  }

  const submit = async (page: Page, selector: string): Promise<void> => {
    await Promise.all([page.waitForNavigation(), page.click(selector)])
  }

  /** Checks that no automatically testable rule of WCAG 2.2 AA is broken, and nothing is wider than the screen. */
  async function inspect(page: Page): Promise<void> {
    // Contrast does not depend on the width, nor the layout on the colours.
    for (const [scheme, width, rules] of [
      ['dark', 320, 'all'],
      ['light', 1200, 'look'],
    ] as const) {
      await loadAxe(page, rules)
      await look(page, scheme, width)
      expect(await page.evaluate(findViolations)).toEqual([])
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(overflow).toBe(0)
    }
  }

  it('every page of the demo app passes axe and fits, dark and narrow, light and wide', async () => {
    const { page, close, blocked } = await openPage()
    await page.goto(site)
    await inspect(page)
    await page.type('#email', 'nobody@example.com')
    await page.type('#password', 'wrong horse')
    await submit(page, 'form[action="/sign-in"] button')
    await inspect(page)
    await page.goto(`${site}/sign-up`)
    await inspect(page)
    await page.type('#email', 'looks@example.com')
    await page.type('#password', 'correct horse')
    await submit(page, 'form[action="/sign-up"] button')
    await inspect(page)
    await page.type('#text', `a long word: ${'w'.repeat(200)}`)
    await submit(page, 'form[action="/notes"] button')
    await inspect(page)
    await page.goto(`${site}/connections`)
    await inspect(page)
    await submit(page, 'button[value=end]')
    await inspect(page)
    await page.goto(`${site}/connections?notice=failed`)
    await inspect(page)
    await page.goto(`${site}/connect?request=sealed`)
    await inspect(page)
    await submit(page, 'button[value=allow]')
    expect(await page.$$('input[type=radio]')).toHaveLength(2)
    await inspect(page)
    await page.goto(`${site}/nowhere`)
    await inspect(page)
    await page.goto(`${site}/notes`)
    await submit(page, 'form[action="/sign-out"] button')
    await submit(page, 'form[action="/sign-in/google"] button')
    expect(new URL(page.url()).pathname).toBe('/google/authorize')
    await inspect(page)
    expect(blocked).toEqual([])
    await close()
  }, 120_000)

  it('the keyboard alone signs in with Google and writes a note', async () => {
    const { page, close } = await openPage()
    await page.goto(site)
    const pressUntil = async (text: string): Promise<void> => {
      for (let presses = 0; presses < 20; presses++) {
        await page.keyboard.press('Tab')
        const label = await page.evaluate('document.activeElement.innerText || document.activeElement.id')
        const ring = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
        expect([label, ring]).toEqual([label, 'solid'])
        if (String(label).includes(text)) return
      }
      throw new Error(`the keyboard does not reach ${text}`)
    }
    const pressEnter = async (): Promise<void> => {
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    }
    await pressUntil('Continue with Google')
    await pressEnter()
    await pressUntil('Grace Example')
    await pressEnter()
    expect(page.url()).toBe(`${site}/notes`)
    await pressUntil('text')
    await page.keyboard.type('typed by hand')
    await pressUntil('Add note')
    await pressEnter()
    expect(await page.evaluate('document.querySelector(".connection p").textContent')).toBe('typed by hand')
    await pressUntil('Copy')
    await close()
  })

  it('Enter in a box of the connected assistants saves, and never disconnects', async () => {
    const { page, close } = await openPage()
    await page.goto(`${site}/sign-up`)
    await page.type('#email', 'boxes@example.com')
    await page.type('#password', 'correct horse')
    await submit(page, 'form[action="/sign-up"] button')
    await page.goto(`${site}/connections`)
    await page.focus('input[value="notes:write"]')
    await page.keyboard.press('Space')
    const [posted] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'POST'),
      page.waitForNavigation(),
      page.keyboard.press('Enter'),
    ])
    expect(posted.postData()).toBe('id=one&scope=mcp&scope=notes%3Aread')
    expect(page.url()).toBe(`${site}/connections?notice=saved`)
    await close()
  })

  it('a button copies the MCP address, and is hidden without scripts', async () => {
    const { page, close, blocked } = await openPage()
    await page.browserContext().overridePermissions(site, ['clipboard-read', 'clipboard-sanitized-write'])
    await page.goto(`${site}/sign-up`)
    await page.type('#email', 'copies@example.com')
    await page.type('#password', 'correct horse')
    await submit(page, 'form[action="/sign-up"] button')
    await page.click('[data-copies="mcp-url"]')
    await expect.poll(() => page.$eval('#copy-status', ({ textContent }) => textContent)).toBe('Copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('http://localhost:8787/mcp')
    expect(blocked).toEqual([])
    await page.setJavaScriptEnabled(false)
    await page.reload()
    expect(await page.$eval('[data-copies="mcp-url"]', (button) => button.checkVisibility())).toBe(false)
    expect(await page.$eval('#mcp-url', ({ textContent }) => textContent)).toBe('http://localhost:8787/mcp')
    await close()
  })
})
