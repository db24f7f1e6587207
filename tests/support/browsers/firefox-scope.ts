import type { Browser } from 'puppeteer-core'

/**
 * The window of Firefox itself rather than of a page: it can click the toolbar, grant a permission and access the
 * popup. Drivers do not expose it, but pass the protocol through.
 */
export interface BrowserScope {
  clickToolbar(geckoId: string): Promise<void>
  /** Resolves when a popup is open and no longer shows that it is loading. */
  waitForPopup(): Promise<void>
  grant(geckoId: string, patterns: readonly string[]): Promise<void>
  /** Runs a function, given as source, with the window of the popup; returns its value. */
  readPopup(source: string): Promise<unknown>
  setPreference(name: string, value: number): Promise<void>
}

/** WebDriver BiDi as the driver uses it; the member is missing from its types. */
interface Connection {
  send(method: string, parameters: object): Promise<{ result: Record<string, unknown> }>
}

interface Evaluated {
  type: 'success' | 'exception'
  result?: { value?: string }
  exceptionDetails?: { text: string }
}

/** Requires a Firefox started with `--remote-allow-system-access`. */
export async function openBrowserScope(browser: Browser): Promise<BrowserScope> {
  const { connection } = browser as unknown as { connection: Connection }
  const tree = await connection.send('browsingContext.getTree', { 'moz:scope': 'chrome' })
  const [window] = tree.result['contexts'] as { context: string }[]

  /** Calls a function, given as source, in the window; its arguments and its value are JSON. */
  async function call(source: string, ...given: readonly unknown[]): Promise<unknown> {
    const { result } = await connection.send('script.callFunction', {
      functionDeclaration: `async (given) => JSON.stringify((await (${source})(...JSON.parse(given))) ?? null)`,
      arguments: [{ type: 'string', value: JSON.stringify(given) }],
      awaitPromise: true,
      target: { context: window?.context },
    })
    const evaluated = result as unknown as Evaluated
    if (evaluated.type === 'exception') throw new Error(evaluated.exceptionDetails?.text)
    return JSON.parse(evaluated.result?.value ?? 'null') as unknown
  }

  return {
    clickToolbar: async (geckoId) => void (await call(clickToolbar, geckoId)),
    waitForPopup: async () => void (await call(waitForPopup)),
    grant: async (geckoId, patterns) => void (await call(grant, geckoId, patterns)),
    readPopup: (source) => call(readPopup, source),
    setPreference: async (name, value) =>
      void (await call('(name, value) => { Services.prefs.setIntPref(name, value) }', name, value)),
  }
}

// The following runs inside Firefox with its own modules; it is text, because our types do not describe it.

const grant = `async (id, origins) => {
  const { ExtensionPermissions } = ChromeUtils.importESModule('resource://gre/modules/ExtensionPermissions.sys.mjs')
  const { ExtensionParent } = ChromeUtils.importESModule('resource://gre/modules/ExtensionParent.sys.mjs')
  const extension = ExtensionParent.GlobalManager.getExtension(id)
  const consents = ['authenticationInfo']
  await ExtensionPermissions.add(id, { origins, permissions: [], data_collection: consents }, extension)
}`

/** Uses a script in the process of the popup, which differs from the window's. */
const readPopup = `async (source, patienceMs = 5000) => {
  const popups = document.querySelectorAll('.webextension-popup-browser')
  const { messageManager } = popups[popups.length - 1]
  const name = 'drawbridge:' + Math.random()
  const script = 'let answer; try { answer = { value: (' + source + ')(content) } } catch (error) { answer = { error: String(error) } }'
    + ' sendAsyncMessage(' + JSON.stringify(name) + ', JSON.stringify(answer))'
  const answer = await new Promise((resolve) => {
    setTimeout(() => resolve({ error: 'The popup does not answer: it may be closed.' }), patienceMs)
    messageManager.addMessageListener(name, function listener({ data }) {
      messageManager.removeMessageListener(name, listener)
      resolve(JSON.parse(data))
    })
    messageManager.loadFrameScript('data:,' + encodeURIComponent(script), false)
  })
  if (answer.error) throw new Error(answer.error)
  return answer.value
}`

const clickToolbar = `async (id) => {
  const { ExtensionParent } = ChromeUtils.importESModule('resource://gre/modules/ExtensionParent.sys.mjs')
  const extension = ExtensionParent.GlobalManager.getExtension(id)
  // A click while it is open would only close it.
  const open = document.querySelector('.webextension-popup-browser')?.closest('panel')
  if (open) {
    const closed = new Promise((resolve) => open.addEventListener('popuphidden', resolve, { once: true }))
    open.hidePopup()
    await closed
  }
  extension.apiManager.global.browserActionFor(extension).triggerAction(window)
}`

const waitForPopup = `async () => {
  const isReady = '(popup) => popup.document.body?.hasAttribute("data-ready") ?? false'
  const end = Date.now() + 10000
  while (Date.now() < end) {
    // It starts in one process and continues in another: requests in between are never answered.
    const isOpen = document.querySelector('.webextension-popup-browser') !== null
    if (isOpen && (await (${readPopup})(isReady, 300).catch(() => false))) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('The popup did not open.')
}`
