// Tests the settings page with every view in a real browser.
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SettingsAction, SettingsView } from '../../core/settings/settings-view.ts'
import { openChromium } from '../../../tests/support/extension/ui/chromium.ts'
import { findChromium } from '../../../tests/support/server/headless-chromium.ts'
import { settingsSamples as samples } from '../../../tests/support/extension/ui/settings-samples.ts'
import { stageOn } from '../../../tests/support/browsers/stage.ts'
import { buildStagedPage } from '../../../tests/support/extension/ui/staged-page.ts'

const chromium = findChromium()

describe.skipIf(chromium === undefined)('the settings page', () => {
  let html: string
  let page: Page
  let close: () => Promise<void>

  beforeAll(async () => {
    html = await buildStagedPage('settings')
    ;({ page, close } = await openChromium(chromium ?? ''))
    await page.setViewport({ width: 1000, height: 800 })
  })
  afterAll(() => close?.())
  beforeEach(() => page.setContent(html))

  async function show(view: SettingsView | undefined): Promise<void> {
    if (view === undefined) throw new Error('There is no such sample.')
    await stageOn<SettingsView>(page, 'en').show(view)
  }

  const actions = (): Promise<SettingsAction[]> => page.evaluate('actions') as Promise<SettingsAction[]>
  const seen = (): Promise<string> =>
    page.evaluate(() => document.body.innerText.replaceAll(/[\u2068\u2069]/g, ''))
  const value = (field: string): Promise<string> =>
    page.$eval(`#${field}`, (input) => (input as HTMLInputElement).value)
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.id ?? '')

  it.each(['en', 'de'] as const)('every view of the settings shows all its texts in %s', async (language) => {
    const found = await stageOn<SettingsView>(page, language).each(samples, 0, () => {
      const named = [...document.querySelectorAll<HTMLElement>('h1, h2, h3, button, label, dt')]
      const nameless = named
        .filter((element) => element.checkVisibility())
        .filter((element) => (element.ariaLabel ?? element.textContent).trim() === '')
        .map((element) => element.outerHTML)
      return { nameless, wrong: /undefined|NaN|null|\[object/.exec(document.body.innerText)?.[0] }
    })
    for (const name of Object.keys(samples)) expect(found[name], name).toEqual({ nameless: [] })
  })

  it('each button of the list names its subject', async () => {
    await show(samples['profiles'])
    const names = await page.$$eval('.card button', (buttons) =>
      buttons.filter((button) => button.checkVisibility()).map((button) => button.ariaLabel),
    )
    expect(names).toEqual([
      'Edit Notes',
      'Delete Notes',
      'Revoke the permission for notes.example.com',
      'Allow mcp.example.com',
      'Edit Notes (staging)',
      'Delete Notes (staging)',
      'Allow staging.internal:3000',
      'Revoke the permission for app.example.org',
      'Revoke the permission for localhost',
    ])
    for (const button of await page.$$('.card button')) if (await button.isVisible()) await button.click()
    expect(await actions()).toEqual([
      expect.objectContaining({ kind: 'edit', id: 'notes' }),
      expect.objectContaining({ kind: 'delete', id: 'notes' }),
      expect.objectContaining({ kind: 'take-back', purpose: 'read', id: 'notes' }),
      expect.objectContaining({ kind: 'allow', purpose: 'test', id: 'notes' }),
      expect.objectContaining({ kind: 'edit', id: 'staging' }),
      expect.objectContaining({ kind: 'delete', id: 'staging' }),
      expect.objectContaining({ kind: 'allow', purpose: 'read', id: 'staging' }),
      expect.objectContaining({ kind: 'take-back-site', host: 'app.example.org' }),
      expect.objectContaining({ kind: 'take-back-site', host: 'localhost' }),
    ])
  })

  it('the form saves what was typed, by Enter too', async () => {
    await show(samples['form-new'])
    expect(await focused()).toBe('appUrl')
    await page.type('#label', 'My notes')
    await page.type('#cookieName', 'my-session')
    await page.focus('#cookieName')
    await page.keyboard.press('Enter')
    const draft = {
      id: 'new',
      appUrl: 'https://notes.example.com',
      baseUrl: '',
      label: 'My notes',
      cookieName: 'my-session',
    }
    expect(await actions()).toEqual([{ kind: 'save', draft }])
  })

  it('the form focuses the first wrong field, and explains each fault beside its field', async () => {
    await show(samples['form-new'])
    await show(samples['form-faults'])
    expect(await focused()).toBe('appUrl')
    const invalid = await page.$$eval('[aria-invalid=true]', (inputs) =>
      inputs.map((input) => {
        const [fault = ''] = input.getAttribute('aria-describedby')?.split(' ') ?? []
        return [input.id, document.getElementById(fault)?.textContent]
      }),
    )
    expect(invalid).toEqual([
      ['appUrl', 'Fill in this field.'],
      ['baseUrl', 'Use https, unless the server runs on this computer.'],
      ['cookieName', 'This is not a valid cookie name.'],
    ])
  })

  it('the form keeps what was typed when it is shown again', async () => {
    await show(samples['form-new'])
    await page.type('#cookieName', 'typed meanwhile')
    await show(samples['form-new'])
    expect([await value('appUrl'), await value('cookieName')]).toEqual([
      'https://notes.example.com',
      'typed meanwhile',
    ])
  })

  it.each(['form-new', 'deletion'])('Escape cancels %s, which closes when the view says so', async (name) => {
    await show(samples['profiles'])
    await page.focus('[name=add]')
    await show(samples[name])
    await page.keyboard.press('Escape')
    expect(await actions()).toEqual([{ kind: 'cancel' }])
    expect(await page.$$('dialog[open]')).toHaveLength(1)
    await show(samples['profiles'])
    expect(await page.$$('dialog[open]')).toHaveLength(0)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('add')
  })

  it('the settings page asks for one site with one button, which has the focus', async () => {
    await show(samples['allow-read'])
    await page.keyboard.press('Enter')
    expect(await actions()).toEqual([expect.objectContaining({ kind: 'allow-asked' })])
    await page.click('[name=return]')
    expect((await actions()).at(-1)).toMatchObject({ kind: 'return' })
  })

  it('the settings page shows text of strangers as text', async () => {
    const markup = '<img src=x onerror="document.title=1">'
    const sample = samples['profiles'] as Extract<SettingsView, { kind: 'profiles' }>
    const [first] = sample.profiles
    if (first === undefined) throw new Error('The sample is empty.')
    await show({
      ...sample,
      profiles: [{ ...first, label: markup, appUrl: markup, baseUrl: markup, cookieName: markup }],
      otherSites: [markup],
      notice: { kind: 'saved', label: markup },
    })
    expect(await page.title()).toBe('Drawbridge · Settings')
    expect(await page.$('img')).toBeNull()
    expect((await seen()).split('<img').length).toBeGreaterThan(6)
  })
})
