import type { Browser } from '../core/ports.ts'
import { readIntent } from '../platform/intent.ts'
import { webExtension } from '../platform/web-extension.ts'

/** A popup that is still there goes on by itself, and takes the intent, within this time. */
const graceMs = 200

/**
 * Opens the popup again after it was closed by the question about a permission, as Chromium does: it then goes on with what
 * the intent says. Nothing happens when the person is at another tab by now, nor where a browser opens popups for clicks
 * only, as Firefox does; the next click goes on then.
 */
export async function resumePopup(browser: Browser): Promise<void> {
  await new Promise<void>((resolve) => {
    browser.setTimer(resolve, graceMs)
  })
  const intent = await readIntent()
  if (intent === undefined) return
  try {
    const { active, windowId } = await webExtension.tabs.get(intent.tabId)
    if (active && windowId !== undefined) await webExtension.action.openPopup({ windowId })
  } catch {
    // The intent stays for the click.
  }
}
