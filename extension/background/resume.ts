import type { Browser } from '../core/ports.ts'
import { readIntent } from '../platform/intent.ts'
import { webExtension } from '../platform/web-extension.ts'

/** A popup that is still open continues on its own and takes the intent within this time. */
const graceMs = 200

/**
 * Reopens the popup after Chromium closed it for a permission prompt; it then continues with the stored intent. Does
 * nothing when the user has switched tabs, or where the browser opens popups only on a click, as Firefox does; the
 * next click continues then.
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
    // Keep the intent for the next click.
  }
}
