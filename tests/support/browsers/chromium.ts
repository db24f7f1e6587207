import {
  type Browser,
  type CDPSession,
  type Connection,
  launch,
  type Page,
  type Protocol,
  type Target,
  TargetType,
} from 'puppeteer-core'
import {
  extensionState,
  listen,
  openExtensionPage,
  openTabIn,
  type PageOpener,
  waitForColors,
  waitForPage,
} from './extension-page.ts'
import { chromiumFlags } from '../server/headless-chromium.ts'
import {
  hostPatterns,
  type BrowserOptions,
  type ExtensionApi,
  type RealPopup,
  type Tab,
  type TestBrowser,
} from './test-browser.ts'

declare const chrome: ExtensionApi & {
  windows: { create(options: { incognito: boolean; url: string }): Promise<void> }
  developerPrivate: {
    addHostPermission(id: string, pattern: string): Promise<void>
    getExtensionInfo(id: string): Promise<{ state: string }>
    updateProfileConfiguration(changes: object): Promise<void>
    updateExtensionConfiguration(changes: object): Promise<void>
  }
}

/**
 * Starts Chromium; see {@link TestBrowser}. With `display` its windows are on that X display, otherwise it is
 * headless.
 */
export async function startChromium({
  executablePath,
  extension,
  profile,
  proxy,
  requests,
  display,
}: BrowserOptions & { display?: string }): Promise<TestBrowser> {
  const browser = await launch({
    executablePath,
    userDataDir: profile,
    headless: display === undefined,
    pipe: true,
    enableExtensions: true,
    env: { ...process.env, LANGUAGE: 'en-US', ...(display !== undefined && { DISPLAY: display }) },
    args: [
      ...chromiumFlags,
      '--ignore-certificate-errors',
      '--enable-unsafe-extension-debugging',
      '--lang=en-US',
      `--proxy-server=${proxy}`,
      '--proxy-bypass-list=<-loopback>',
      '--window-size=1200,850',
      // Popups are lower on small screens.
      '--screen-info={1600x1200}',
    ],
  })
  return createChromium(browser, await browser.installExtension(extension), { profile, requests })
}

function createChromium(
  browser: Browser,
  id: string,
  { profile, requests }: Pick<BrowserOptions, 'profile' | 'requests'>,
): TestBrowser {
  const complaints: string[] = []
  const privatePages = new WeakSet<Page>()
  const helpers = new Map<PageOpener, Promise<Page>>()
  let manager: Promise<Page> | undefined

  const open = (opener: PageOpener, path: string): Promise<Page> =>
    openExtensionPage(opener, `chrome-extension://${id}/${path}`, complaints)

  /** Opens a page of the extension that stays open, to call its interfaces in. */
  function helper(opener: PageOpener = browser): Promise<Page> {
    const known = helpers.get(opener) ?? open(opener, 'options.html')
    helpers.set(opener, known)
    return known
  }

  /** Private windows like a user's: the driver's contexts are private too, but have a separate cookie store. */
  const privateWindows: PageOpener = {
    async newPage() {
      const within = await helper()
      const known = new Set(browser.targets())
      await within.evaluate(() => chrome.windows.create({ incognito: true, url: 'about:blank' }))
      const target = await browser.waitForTarget(
        (added) => added.type() === TargetType.PAGE && !known.has(added),
      )
      const page = await target.asPage()
      privatePages.add(page)
      return page
    },
  }

  /** Opens the browser's own page of extensions, which may change their permissions. */
  function extensionManager(): Promise<Page> {
    manager ??= (async () => {
      const page = await browser.newPage()
      await page.goto('chrome://extensions/')
      return page
    })()
    return manager
  }

  async function allowPrivateWindows(): Promise<void> {
    const page = await extensionManager()
    const last = await helper()
    const reloaded = new Promise((resolve) => last.once('close', resolve))
    await page.evaluate(async (extensionId) => {
      // Without it, extensions changed since their installation are turned off.
      await chrome.developerPrivate.updateProfileConfiguration({ inDeveloperMode: true })
      await chrome.developerPrivate.updateExtensionConfiguration({ extensionId, incognitoAccess: true })
    }, id)
    // That reloads the extension, which closes its pages.
    await reloaded
    helpers.clear()
    await page.waitForFunction(isEnabled, {}, id)
  }

  async function answerYes(...hosts: readonly string[]): Promise<void> {
    const page = await extensionManager()
    for (const pattern of hostPatterns(hosts)) {
      await page.evaluate(
        (extensionId, host) => chrome.developerPrivate.addHostPermission(extensionId, host),
        id,
        pattern,
      )
    }
  }

  async function nextPopup(): Promise<RealPopup> {
    const known = new Set(browser.targets())
    const target = await browser.waitForTarget((added) => !known.has(added) && isPopup(added, id))
    const page = await target.asPage()
    listen(page, complaints)
    await waitForPage(page, 'body[data-ready]')
    return realPopup(page)
  }

  /** Brings the tab to the front. Returns a function that clicks the extension's icon. */
  async function toolbarButton(session: CDPSession, { page }: Tab): Promise<() => Promise<unknown>> {
    await page.bringToFront()
    const { targetInfos } = await session.send('Target.getTargets', { filter: [{ type: 'tab' }] })
    const target = targetInfos.find(({ url }) => url === page.url())
    // The driver's types lack that domain.
    const send = session.send.bind(session) as (method: string, parameters: object) => Promise<unknown>
    return () => send('Extensions.triggerAction', { id, targetId: target?.targetId })
  }

  return {
    kind: 'chromium',
    profile,
    requests,
    complaints,
    openTab: async (url) => openTabIn(await helper(), browser, url),
    async openSeparateTab(url) {
      await allowPrivateWindows()
      return openTabIn(await helper(privateWindows), privateWindows, url)
    },
    openPopupFor({ id: tabId, page }) {
      const isPrivate = page !== undefined && privatePages.has(page)
      return open(isPrivate ? privateWindows : browser, `popup.html#tab=${tabId}`)
    },
    openSettings: (hash = '') => open(browser, `options.html#${hash}`),
    async clickToolbar(tab) {
      const click = await toolbarButton(await browser.target().createCDPSession(), tab)
      const opened = nextPopup()
      await click()
      return opened
    },
    async letGo(tab) {
      // It would be redrawn whenever a popup opens.
      await (await manager)?.close()
      await helper()
      const session = await browser.target().createCDPSession()
      const click = await toolbarButton(session, tab)
      const connection = session.connection() as Connection
      await connection.send('Target.setAutoAttach', {
        autoAttach: false,
        waitForDebuggerOnStart: false,
        flatten: true,
      })
      const { targetInfos } = await session.send('Target.getTargets')
      const settings = targetInfos.find(({ url }) => url === `chrome-extension://${id}/options.html`)
      const within = await connection.createSession(settings as Protocol.Target.TargetInfo)
      return async () => {
        await click()
        return { read: async (read) => readPopupFrom(within, read) }
      }
    },
    nextPopup,
    async nextSettings() {
      const known = new Set(browser.targets())
      const target = await browser.waitForTarget(
        (added) => !known.has(added) && added.url().startsWith(`chrome-extension://${id}/options.html`),
      )
      const page = await target.asPage()
      await waitForPage(page, 'body[data-ready]')
      return page
    },
    async prefer(page, colorScheme) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: colorScheme }])
      await waitForColors(page, colorScheme)
    },
    answerYes,
    async grant(...hosts) {
      await answerYes(...hosts)
      const within = await helper()
      await within.evaluate((origins) => chrome.permissions.request({ origins }), hostPatterns(hosts))
    },
    ...extensionState(helper),
    close: () => browser.close(),
  }
}

async function isEnabled(id: string): Promise<boolean> {
  const { state } = await chrome.developerPrivate.getExtensionInfo(id)
  return state === 'ENABLED'
}

function isPopup(target: Target, id: string): boolean {
  return target.url() === `chrome-extension://${id}/popup.html`
}

/** Runs `read` inside the popup through another page of the extension. Throws when there is no popup. */
async function readPopupFrom<Value>(session: CDPSession, read: (popup: Window) => Value): Promise<Value> {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `(${read.toString()})(chrome.extension.getViews({ type: 'popup' })[0])`,
    returnByValue: true,
  })
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description)
  return result.value as Value
}

function realPopup(page: Page): RealPopup {
  return {
    read: async (read) => (await page.evaluate(`(${read.toString()})(window)`)) as ReturnType<typeof read>,
    click: (selector) => page.click(selector),
  }
}
