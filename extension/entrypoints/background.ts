import { defineBackground } from 'wxt/utils/define-background'
import { badgeAlarm, paintBadges } from '../background/badges.ts'
import { resumePopup } from '../background/resume.ts'
import { createBrowser } from '../platform/browser.ts'
import { webExtension } from '../platform/web-extension.ts'

/** Cookies change in bursts. */
const quietMs = 150

export default defineBackground({
  // Runs synchronously at start: only listeners registered then receive the event that woke the script.
  main() {
    const browser = createBrowser()
    let cancel = (): void => {}
    const paintSoon = (): void => {
      cancel()
      cancel = browser.setTimer(() => void paintBadges(browser), quietMs)
    }
    const { alarms, cookies, permissions, runtime, tabs } = webExtension
    permissions.onAdded.addListener(() => {
      paintSoon()
      void resumePopup(browser)
    })
    permissions.onRemoved.addListener(paintSoon)
    runtime.onInstalled.addListener(paintSoon)
    runtime.onStartup.addListener(paintSoon)
    cookies.onChanged.addListener(paintSoon)
    tabs.onActivated.addListener(paintSoon)
    tabs.onUpdated.addListener((_id, { status }) => {
      if (status === 'complete') paintSoon()
    })
    alarms.onAlarm.addListener(({ name }) => {
      if (name === badgeAlarm) void paintBadges(browser)
    })
  },
})
