// Tests the popup's own page with every view in a real browser.
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { linkedClients } from '@drawbridge/shared/clients/install-link.ts'
import type { PopupAction, PopupView } from '../core/popup/popup-view.ts'
import { openChromium } from '../../tests/support/extension/ui/chromium.ts'
import { findChromium } from '../../tests/support/server/headless-chromium.ts'
import { stageOn } from '../../tests/support/browsers/stage.ts'
import { buildStagedPage } from '../../tests/support/extension/ui/staged-page.ts'
import {
  hostileSamples,
  sampleReady,
  sampleToken,
  viewSamples,
} from '../../tests/support/extension/ui/view-samples.ts'

const chromium = findChromium()
const now = Date.UTC(2027, 0, 15, 13, 45) / 1000
const samples = viewSamples(now)

describe.skipIf(chromium === undefined)('the popup page', () => {
  let html: string
  let page: Page
  let close: () => Promise<void>

  beforeAll(async () => {
    html = await buildStagedPage('popup')
    ;({ page, close } = await openChromium(chromium ?? ''))
  })
  afterAll(() => close?.())
  beforeEach(() => page.setContent(html))

  async function show(view: PopupView | undefined, language: 'en' | 'de' = 'en', at = now): Promise<void> {
    if (view === undefined) throw new Error('There is no such sample.')
    await stageOn<PopupView>(page, language).show(view, at)
  }

  const actions = (): Promise<PopupAction[]> => page.evaluate('actions') as Promise<PopupAction[]>
  const textOf = (selector: string): Promise<string> =>
    page.$eval(selector, (element) => element.textContent.replaceAll(/\s+/g, ' ').trim())
  const seen = (): Promise<string> =>
    page.evaluate(() => document.body.innerText.replaceAll(/[\u2068\u2069]/g, ''))
  const isSeen = (selector: string): Promise<boolean> =>
    page.$eval(selector, (element) => element.checkVisibility())
  const focused = (): Promise<string> =>
    page.evaluate(() => (document.activeElement as HTMLButtonElement | null)?.name ?? '')

  it('the popup shows the brand before any script has run', async () => {
    await page.setJavaScriptEnabled(false)
    await page.setContent(html)
    expect(await seen()).toBe('Drawbridge')
    await page.setJavaScriptEnabled(true)
  })

  it.each(['en', 'de'] as const)('every view of the popup shows all its texts in %s', async (language) => {
    const found = await stageOn<PopupView>(page, language).each(samples, now, () => {
      const named = [...document.querySelectorAll<HTMLElement>('h1, h2, button, summary, dt')]
      const nameless = named
        .filter((element) => element.checkVisibility())
        .filter((element) => (element.ariaLabel ?? element.textContent).trim() === '')
        .map((element) => element.outerHTML)
      const [wrong] = /undefined|NaN|null|\[object/.exec(document.body.innerText) ?? []
      const { view, ready } = document.body.dataset
      return { nameless, wrong, language: document.documentElement.lang, view, ready }
    })
    for (const [name, { kind: view }] of Object.entries(samples)) {
      const isReady = view !== 'loading' && { ready: '' }
      expect(found[name], name).toEqual({ nameless: [], language, view, ...isReady })
    }
  })

  it.each([
    ['no-web-page', 'settings'],
    ['no-web-page-app', 'open-app'],
    ['no-permission', 'read-again', 'allow'],
    ['no-permission-private', 'read-again', 'allow'],
    ['signed-out', 'read-again'],
    ['signed-out-app', 'open-app'],
    ['signed-out-further', 'read-again', 'allow'],
    ['incomplete', 'reload'],
    ['corrupt', 'reload'],
    ['expired', 'reload'],
    ['waiting', 'read-again'],
  ])('the view %s has one main action, which Enter does: %s', async (name, kind, ...second) => {
    await show(samples[name])
    await page.keyboard.press('Enter')
    expect(await actions()).toEqual([expect.objectContaining({ kind })])
    const visible = await page.$$eval('main button', (buttons) =>
      buttons.filter((button) => button.checkVisibility()).map(({ name }) => name),
    )
    expect(visible).toEqual([kind, ...second])
  })

  it('the popup says that it found no session before it asks for a permission', async () => {
    await show(samples['no-permission'])
    expect(await textOf('h1')).toBe('No session found')
    expect((await seen()).replaceAll(/\s+/g, ' ')).toContain(
      'Sign in to the app, then click again. Look again Signed in already? Its cookie may be hidden from pages: Allow for notes.example.com',
    )
    await page.click('[name=allow]')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'allow' })])
    await show(samples['signed-out'])
    expect(await isSeen('[name=allow]')).toBe(false)
    await show(samples['signed-out-further'])
    expect(await textOf('[name=allow]')).toBe('Allow for example.com')
  })

  it('Enter copies the token when the popup opens', async () => {
    await show({ kind: 'loading' })
    await show(samples['ready'])
    await page.keyboard.press('Enter')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'copy', format: 'token' })])
  })

  it('a button chooses its session', async () => {
    await show(samples['several'])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'choose', sessionId: 'second' })])
  })

  it('the keyboard reaches every format of the open list', async () => {
    await show(samples['ready'])
    await page.focus('.formats summary')
    await page.keyboard.press('Space')
    const reached: string[] = []
    for (let step = 0; step < 17; step++) {
      await page.keyboard.press('Tab')
      await page.keyboard.press('Space')
      reached.push(await page.evaluate(() => (document.activeElement as HTMLButtonElement).value))
    }
    const linked = Object.keys(linkedClients)
    expect(await actions()).toEqual(
      reached.map((value) =>
        linked.includes(value)
          ? expect.objectContaining({ kind: 'open-client', client: value })
          : expect.objectContaining({ kind: 'copy', format: value }),
      ),
    )
    expect(reached).toEqual(expect.arrayContaining(linked))
    expect(new Set(reached).size).toBe(17)
  })

  it('the popup offers formats and clients that need a server only if there is one', async () => {
    await show(samples['ready-no-server'])
    await page.click('.formats summary')
    const visible = await page.$$eval('.formats :is(button, h2)', (elements) =>
      elements.filter((element) => element.checkVisibility()).map((element) => element.textContent),
    )
    expect(visible).toEqual(['With the token', 'Authorization header', 'Environment variable'])
    expect(await isSeen('.test [name=settings]')).toBe(true)
    expect(await isSeen('[name=test]')).toBe(false)
    await show(samples['ready'])
    const offered = await page.$$eval('.formats button', (buttons) =>
      buttons.map((button) => button.checkVisibility() && button.textContent.trim()),
    )
    expect(offered).toHaveLength(17)
    for (const text of offered) expect(text).toMatch(/\w/)
  })

  it('the popup names every linked client of the table', async () => {
    const shown = await page.$$eval('[name=open-client]', (buttons) =>
      buttons.map((button) => [(button as HTMLButtonElement).value, button.textContent]),
    )
    expect(shown).toEqual(Object.entries(linkedClients).map(([id, { name }]) => [id, name]))
  })

  it('the popup shows the whole announced server, and uses it only after a click', async () => {
    await show(samples['ready-announced'])
    expect((await seen()).replaceAll(/\s+/g, ' ')).toContain(
      'This web app names its MCP server: notes.example.com/mcp Use this server',
    )
    expect(await isSeen('[data-slot=no-server]')).toBe(false)
    expect(await isSeen('[name=test]')).toBe(false)
    await show(samples['ready-announced-elsewhere'])
    expect(await textOf('.announced .warning')).toContain('on another host')
    expect(await seen()).toContain('notes.example.com.tools.example.net/team/mcp')
    await page.click('[name=use-server]')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'use-server' })])
    await show(samples['ready'])
    expect(await isSeen('.announced')).toBe(false)
  })

  it('the popup marks configurations without a token as recommended, and the others with the time left', async () => {
    await show(samples['ready'])
    expect(await textOf('#recommended')).toContain('Recommended')
    expect(await textOf('#quick-test-time')).toBe('Quick test, works for 47 min')
    await show(samples['ready'], 'en', now + 46 * 60)
    expect(await textOf('#quick-test-time')).toBe('Quick test, works for 1 min')
  })

  it.each([
    ['token', 'Token copied. It works for 47 min.'],
    ['header', 'Authorization header copied. It works for 47 min.'],
    ['config-claude-code', 'Configuration for Claude Code copied. It holds no token.'],
    ['test-cursor', 'Test configuration for Cursor copied. It expires with the token.'],
  ] as const)('the status says that %s was copied, without the token', async (copied, said) => {
    await show(samples['ready'])
    await show(sampleReady(now, { copied }))
    expect(await textOf('.status')).toBe(said)
    expect(await page.$eval('.status', (status) => status.getAttribute('role'))).toBe('status')
    expect(await textOf('.status')).not.toContain(sampleToken.slice(-8))
  })

  it('the popup says when copying failed', async () => {
    await show(samples['ready-copy-failed'])
    const failed = '.status [data-slot=copy-failed]'
    expect(await isSeen(failed)).toBe(true)
    await show(samples['ready'])
    expect(await isSeen(failed)).toBe(false)
  })

  it('the countdown is silent, and keeps focus and open sections', async () => {
    await show(samples['ready'])
    await page.click('.formats summary')
    await page.focus('[value=curl]')
    await page.evaluate(() => {
      const changes: string[] = []
      Object.assign(globalThis, { changes })
      new MutationObserver((records) => {
        for (const { target } of records) {
          const element = target instanceof Element ? target : target.parentElement
          changes.push(element?.closest('[role=status], [role=timer], [aria-live]')?.role ?? 'elsewhere')
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
    await show(samples['ready'], 'en', now + 1)
    expect(await textOf('[role=timer]')).toBe('47:11')
    expect(await page.evaluate(() => (globalThis as unknown as { changes: string[] }).changes)).toEqual([
      'timer',
    ])
    expect(await page.$eval('[role=timer]', (timer) => timer.ariaLive)).toBe('off')
    expect(await page.evaluate(() => (document.activeElement as HTMLButtonElement).value)).toBe('curl')
    expect(await page.$eval('.formats', (details) => (details as HTMLDetailsElement).open)).toBe(true)
  })

  it('the page holds the token only while it is revealed, and never in an attribute', async () => {
    const markup = (): Promise<string> => page.evaluate(() => document.documentElement.outerHTML)
    await show(samples['ready'])
    expect(await markup()).not.toContain(sampleToken)
    expect(await isSeen('.revealed')).toBe(false)
    expect(await page.$eval('.masked', (mask) => getComputedStyle(mask).userSelect)).toBe('none')
    await page.click('[name=reveal]')
    await show(samples['ready-revealed'])
    expect(await textOf('.revealed')).toBe(sampleToken)
    expect(await focused()).toBe('hide')
    expect((await markup()).split(sampleToken).length).toBe(2)
    const attributes = await page.evaluate(() =>
      [...document.querySelectorAll('*')].flatMap((element) =>
        [...element.attributes].map(({ value }) => value),
      ),
    )
    expect(attributes.filter((value) => value.includes(sampleToken))).toEqual([])
    await show(samples['ready'])
    expect(await markup()).not.toContain(sampleToken)
  })

  it('every other view removes a revealed token', async () => {
    for (const name of ['expired', 'several', 'signed-out', 'loading']) {
      await show(samples['ready-revealed'])
      await show(samples[name])
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(sampleToken)
    }
  })

  it('the popup shows claims as not verified, and their times as dates in the language', async () => {
    await show(samples['ready'])
    await page.click('.claims summary')
    expect(await textOf('.claims summary')).toBe('What the token says not verified')
    expect(await textOf('.claims dl > div:last-child')).toMatch(/exp .*2027.*\d{1,2}:32/)
    await page.setContent(html)
    await show(samples['ready'], 'de')
    expect(await textOf('.claims dl > div:last-child')).toMatch(/exp 15\.01\.2027, \d\d:32/)
  })

  it('the popup hides the claims if there are none', async () => {
    await show(samples['ready-endless'])
    expect(await isSeen('.claims')).toBe(false)
    expect(await textOf('[role=timer]')).toBe('Unknown')
  })

  it('the popup shows the result of a test, with a long list of tools that scrolls by itself', async () => {
    await show(samples['test-passed'])
    expect(await seen()).toContain('Notes answered in 123 ms and offers 12 tools.')
    const list = await page.$eval('.tools', (tools) => ({
      count: tools.querySelectorAll('li').length,
      scrolls: tools.scrollHeight > tools.clientHeight,
      tabIndex: (tools as HTMLElement).tabIndex,
    }))
    expect(list).toEqual({ count: 12, scrolls: true, tabIndex: 0 })
    await show(samples['test-passed-one'])
    expect(await seen()).toContain('mcp.example.com/mcp answered in 1234 ms and offers one tool.')
    await show(samples['test-refused'])
    expect(await seen()).toContain('invalid_token: The token was issued by another project.')
    expect(await page.$('.tools li')).toBeNull()
    await show(samples['test-no-permission'])
    await page.click('[name=allow-test]')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'allow-test' })])
  })

  it('the popup scrolls the result of a test into view in a low popup', async () => {
    const size = page.viewport()
    await page.setViewport({ width: 360, height: 600 })
    await show(samples['ready'])
    await show(samples['test-passed'])
    const isInView = (): Promise<boolean> =>
      page.$eval('.tools', (tools) => {
        const { bottom } = tools.getBoundingClientRect()
        const court = tools.closest('.court') as Element
        return court.scrollHeight > court.clientHeight && bottom <= court.getBoundingClientRect().bottom
      })
    await expect.poll(isInView).toBe(true)
    await page.setViewport(size)
  })

  it('the popup offers a reload when the token expires soon', async () => {
    await show(samples['ready'], 'en', now + 42 * 60 + 12)
    expect(await isSeen('.warning [name=reload]')).toBe(false)
    await show(samples['ready-ends-soon'])
    expect(await seen()).toContain('Under five minutes left.')
    await page.click('.warning [name=reload]')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'reload' })])
  })

  it('the popup shows text of strangers as text', async () => {
    const found = await stageOn<PopupView>(page, 'en').each(hostileSamples(now), now, () => ({
      added: document.querySelectorAll('img, main script, iframe').length,
      isText: document.body.innerText.includes('<img src=x'),
    }))
    for (const [name, each] of Object.entries(found)) expect(each, name).toEqual({ added: 0, isText: true })
    expect(await page.title()).toBe('Drawbridge')
  })

  it('the popup keeps to the height that browsers allow, and scrolls inside', async () => {
    await show(samples['test-passed'])
    await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true
    })
    const height = await page.evaluate(() => document.body.getBoundingClientRect().height)
    expect(height).toBeLessThanOrEqual(600)
    expect(await page.$eval('.ready', (court) => court.scrollHeight > court.clientHeight)).toBe(true)
    // The page itself does not overflow.
    expect(await page.evaluate(() => scrollY)).toBe(0)
  })
})
