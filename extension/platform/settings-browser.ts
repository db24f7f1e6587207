import type { SettingsBrowser } from '../core/ports.ts'
import { createBrowser } from './browser.ts'
import { webExtension } from './web-extension.ts'

/** Creates the real browser for the settings page. See `SettingsBrowser` for the contract of each member. */
export function createSettingsBrowser(): SettingsBrowser {
  const { permissions, tabs, windows } = webExtension
  return {
    ...createBrowser(),
    allowed: async () => (await permissions.getAll()).origins ?? [],
    async forget(patterns) {
      await permissions.remove({ origins: [...patterns] })
    },
    async returnTo(tabId) {
      try {
        const tab = await tabs.update(tabId, { active: true })
        if (tab.windowId !== undefined) await windows.update(tab.windowId, { focused: true })
      } catch {
        return false
      }
      const { id } = await tabs.getCurrent()
      if (id !== undefined) await tabs.remove(id)
      return true
    },
  }
}
