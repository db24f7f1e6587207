import type { SettingsBrowser } from '../core/ports.ts'
import { createBrowser } from './browser.ts'
import { webExtension } from './web-extension.ts'

/** What the page of settings needs of the real browser. See `SettingsBrowser` for what each member promises. */
export function createSettingsBrowser(): SettingsBrowser {
  const { permissions, tabs, windows, commands } = webExtension
  return {
    ...createBrowser(),
    allowed: async () => (await permissions.getAll()).origins ?? [],
    async forget(patterns) {
      try {
        return await permissions.remove({ origins: [...patterns] })
      } catch {
        // What the manifest grants, the browser keeps.
        return false
      }
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
    async shortcut() {
      const all = await commands.getAll()
      return all.find(({ name }) => name === '_execute_action')?.shortcut || undefined
    },
  }
}
