import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ElementHandle, Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { until } from '../e2e/server-process.ts'
import { violations } from '../support/browsers/axe.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { press, shown } from '../support/browsers/popup-page.ts'
import type { TestBrowser } from '../support/browsers/test-browser.ts'

describeBrowsers('the page of settings in %s', (kind) => {
  let browser: TestBrowser
  let settings: Page
  let folder: string
  let exported: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drawbridge-settings-'))
    browser = await launchBrowser(kind)
    settings = await browser.openSettings()
  })
  afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function save(values: Record<string, string>): Promise<void> {
    for (const [id, value] of Object.entries(values)) {
      await settings.$eval(`#${id}`, (field) => ((field as HTMLInputElement).value = ''))
      await settings.type(`#${id}`, value)
    }
    await press(settings, 'save')
  }

  async function importFile(content: string): Promise<void> {
    const file = join(folder, 'settings.json')
    writeFileSync(file, content)
    const input = (await settings.$('input[type=file]')) as ElementHandle<HTMLInputElement>
    await input.uploadFile(file)
  }

  it('says what is wrong with a profile, where it is wrong', async () => {
    await press(settings, 'add')
    await save({ appUrl: 'notes.example.com', baseUrl: 'http://mcp.example.com' })
    await until(async () => (await shown(settings, 'fault-appUrl')) !== '', 'a fault')
    expect(await shown(settings, 'fault-baseUrl')).not.toBe('')
    expect(await settings.evaluate(() => document.activeElement?.id)).toBe('appUrl')
    expect(await violations(settings)).toEqual([])
  })

  it('saves it, and shows it', async () => {
    await save({
      appUrl: 'https://notes.example.com/',
      baseUrl: 'https://mcp.example.com/mcp',
      label: '<b>Notes</b>',
    })
    await until(async () => (await shown(settings, 'profiles')).includes('notes.example.com'), 'the profile')
    expect(await shown(settings, 'profiles')).toContain('<b>Notes</b>')
    expect(await settings.$$('dialog[open]')).toEqual([])
    expect(await browser.stored()).toContain('"https://mcp.example.com"')
  })

  it('exports it without secrets, deletes it, and imports it again', async () => {
    await settings.evaluate(() => {
      // Read the download instead of saving it.
      const { createObjectURL } = URL
      URL.createObjectURL = (blob) => {
        void (blob as Blob).text().then((text) => (document.documentElement.dataset['exported'] = text))
        return createObjectURL(blob)
      }
      addEventListener('click', (event) => {
        if (event.target instanceof HTMLAnchorElement) event.preventDefault()
      })
    })
    await press(settings, 'export')
    await settings.waitForSelector('html[data-exported]')
    exported = await settings.$eval('html', (page) => page.dataset['exported'] ?? '')
    expect(JSON.parse(exported)).toMatchObject({
      version: 1,
      profiles: [
        { label: '<b>Notes</b>', appUrl: 'https://notes.example.com', baseUrl: 'https://mcp.example.com' },
      ],
    })

    await press(settings, 'delete')
    expect(await violations(settings)).toEqual([])
    await press(settings, 'confirm-delete')
    await until(
      async () => !(await shown(settings, 'profiles')).includes('notes.example.com'),
      'the deletion',
    )

    await importFile(exported)
    await settings.waitForSelector('#import[open]')
    expect(await shown(settings, 'changes')).toContain('https://mcp.example.com')
    expect(await violations(settings)).toEqual([])
    expect(await browser.stored()).not.toContain('notes.example.com')
    await press(settings, 'confirm-import')
    await until(async () => (await shown(settings, 'profiles')).includes('notes.example.com'), 'the import')
  })

  it('shows where tokens would go after an import, and changes nothing without a yes', async () => {
    const before = await browser.stored()
    await importFile(exported.replace('https://mcp.example.com', 'https://mcp.example.com.evil.example'))
    await settings.waitForSelector('#import[open]')
    const changes = await shown(settings, 'changes')
    expect(changes).toContain('https://mcp.example.com.evil.example')
    expect(changes).toContain('Until now: https://mcp.example.com')
    await press(settings, 'cancel')
    await settings.waitForSelector('#import:not([open])')
    expect(await browser.stored()).toBe(before)
  })

  it('imports nothing that is not its own', async () => {
    const bad = exported.replace('https://notes', 'javascript:notes')
    for (const content of ['{}', exported.replace('"version": 1', '"version": 2'), bad]) {
      const before = await browser.stored()
      const notice = await shown(settings, 'notice')
      await importFile(content)
      await until(async () => (await shown(settings, 'notice')) !== notice, 'what is wrong')
      expect(await browser.stored()).toBe(before)
    }
  })

  it.each(['light', 'dark'] as const)(
    'axe finds nothing wrong in %s colours, at any size',
    async (scheme) => {
      await browser.prefer(settings, scheme)
      const found: Record<string, string[]> = {}
      for (const size of [
        { width: 1280, height: 800 },
        { width: 1000, height: 400 },
        { width: 320, height: 640 },
      ]) {
        await settings.setViewport(size)
        const wrong = await violations(settings)
        if (wrong.length > 0) found[`${size.width}`] = wrong
        const excess = await settings.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect({ ...size, excess }).toEqual({ ...size, excess: 0 })
      }
      expect(found).toEqual({})
    },
  )
})
