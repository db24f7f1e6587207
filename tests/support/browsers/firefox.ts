import { setTimeout as delay } from 'node:timers/promises'
import { type Browser, launch, type Page } from 'puppeteer-core'
import { extensionState, openExtensionPage, openTabIn, waitForColors } from './extension-page.ts'
import { type BrowserScope, openBrowserScope } from './firefox-scope.ts'
import { hostPatterns, type BrowserOptions, type RealPopup, type TestBrowser } from './test-browser.ts'

/** Firefox gives every installation a different one; a known one can be opened. */
const uuid = '4f1ad7be-0b5c-4b56-8c1e-5d8f1d3b7a10'

/** Applies to all pages at once: the driver cannot set it for one. Its values are the indexes in `schemes`. */
const schemePreference = 'layout.css.prefers-color-scheme.content-override'
const schemes = ['dark', 'light']

const quiet = {
  'app.update.enabled': false,
  'browser.aboutwelcome.enabled': false,
  'browser.safebrowsing.enabled': false,
  // Text that tests paste into a page would be saved to disk like user input.
  'browser.sessionstore.privacy_level': 2,
  'browser.shell.checkDefaultBrowser': false,
  'browser.newtab.preload': false,
  'browser.pagethumbnails.capturing_disabled': true,
  'datareporting.policy.dataSubmissionEnabled': false,
  // Processes for pages that are never opened.
  'dom.ipc.processPrelaunch.enabled': false,
  'extensions.update.enabled': false,
  // Frames a second: drawing is what takes its time.
  'layout.frame_rate': 20,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'http://127.0.0.1:9',
  'toolkit.telemetry.server': 'http://127.0.0.1:9',
}

/** Starts Firefox without windows; see {@link TestBrowser}. */
export async function startFirefox({
  executablePath,
  extension,
  profile,
  proxy,
  requests,
  geckoId,
}: BrowserOptions & { geckoId: string }): Promise<TestBrowser> {
  const [host, port] = proxy.split(':')
  const running = await launch({
    browser: 'firefox',
    executablePath,
    userDataDir: profile,
    headless: true,
    acceptInsecureCerts: true,
    args: ['--remote-allow-system-access'],
    // Otherwise it would look for extensions in the home of the user who runs the tests.
    env: { ...process.env, HOME: profile },
    extraPrefsFirefox: {
      ...quiet,
      'extensions.webextensions.uuids': JSON.stringify({ [geckoId]: uuid }),
      // Grants every request of an extension.
      'extensions.webextOptionalPermissionPrompts': false,
      'network.proxy.type': 1,
      'network.proxy.http': host,
      'network.proxy.http_port': Number(port),
      'network.proxy.ssl': host,
      'network.proxy.ssl_port': Number(port),
      'network.proxy.no_proxies_on': '',
      'network.proxy.allow_hijacking_localhost': true,
    },
  })
  await running.installExtension(extension)
  return createFirefox(running, await openBrowserScope(running), { geckoId, profile, requests })
}

function createFirefox(
  running: Browser,
  scope: BrowserScope,
  { geckoId, profile, requests }: Pick<BrowserOptions, 'profile' | 'requests'> & { geckoId: string },
): TestBrowser {
  const complaints: string[] = []
  let helperPage: Promise<Page> | undefined

  const open = (path: string): Promise<Page> =>
    openExtensionPage(running, `moz-extension://${uuid}/${path}`, complaints)

  /** Opens a page of the extension that stays open, to call its interfaces in. */
  function helper(): Promise<Page> {
    helperPage ??= open('options.html')
    return helperPage
  }

  return {
    kind: 'firefox',
    profile,
    requests,
    complaints,
    openTab: async (url) => openTabIn(await helper(), running, url),
    openSeparateTab: async (url) => openTabIn(await helper(), await running.createBrowserContext(), url),
    openPopupFor: (tab) => open(`popup.html#tab=${tab.id}`),
    openSettings: (hash = '') => open(`options.html#${hash}`),
    async clickToolbar(tab) {
      await tab.page.bringToFront()
      await scope.clickToolbar(geckoId)
      await scope.waitForPopup()
      return realPopup(scope)
    },
    // The driver talks to the browser here, and never to the popup.
    async letGo(tab) {
      await tab.page.bringToFront()
      return async () => {
        await scope.clickToolbar(geckoId)
        return realPopup(scope)
      }
    },
    async nextPopup() {
      await scope.waitForPopup()
      return realPopup(scope)
    },
    async nextSettings() {
      const known = new Set(await running.pages())
      for (let attempt = 0; attempt < 400; attempt++) {
        for (const page of await running.pages()) {
          // Queries fail while the page is loading.
          if (!known.has(page) && (await page.$('body[data-ready]').catch(() => null))) return page
        }
        await delay(25)
      }
      throw new Error('The page of settings did not open.')
    },
    async prefer(page, colorScheme) {
      await scope.setPreference(schemePreference, schemes.indexOf(colorScheme))
      await waitForColors(page, colorScheme)
    },
    // A preference grants all of them.
    answerYes: async () => undefined,
    grant: (...hosts) => scope.grant(geckoId, hostPatterns(hosts)),
    ...extensionState(helper),
    close: () => running.close(),
  }
}

function realPopup(scope: BrowserScope): RealPopup {
  return {
    read: async (read) => (await scope.readPopup(read.toString())) as ReturnType<typeof read>,
    click: async (selector) => {
      await scope.readPopup(`(popup) => {
        popup.document.notifyUserGestureActivation()
        const input = popup.windowUtils.setHandlingUserInput(true)
        try { popup.document.querySelector(${JSON.stringify(selector)}).click() } finally { input.destruct() }
        return null
      }`)
    },
  }
}
