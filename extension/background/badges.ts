import { type Badge, badgeFor } from '../core/session/badge.ts'
import type { Browser, Tab } from '../core/ports.ts'
import { allProfiles, chooseProfile } from '../core/profile.ts'
import { readSessions } from '../core/session/session-reader.ts'
import { originPatterns } from '../core/site.ts'
import { translate } from '../platform/translate.ts'
import { webExtension } from '../platform/web-extension.ts'

/** Name of the alarm that updates the remaining minutes. */
export const badgeAlarm = 'badge'

/** Dark enough for white digits; the text differs too. */
const colours = { fresh: '#0b6658', soon: '#6d4300', over: '#8a1c12' } as const

/**
 * Shows the remaining minutes on the icon of each window's visible tab, and schedules updates as long as any remain.
 * Reads only cookies of allowed sites, never pages. Stores nothing.
 */
export async function paintBadges(browser: Browser): Promise<void> {
  const tabs = await webExtension.tabs.query({ active: true })
  const badges = await Promise.all(
    tabs.map(async ({ id, url, incognito }) => {
      if (id === undefined) return false
      try {
        const badge = await readBadge(browser, { id, url, incognito })
        await paint(id, badge)
        return badge?.tone === 'fresh' || badge?.tone === 'soon'
      } catch {
        // The tab has been closed meanwhile.
        return false
      }
    }),
  )
  if (!badges.includes(true)) await webExtension.alarms.clear(badgeAlarm)
  else if ((await webExtension.alarms.get(badgeAlarm)) === undefined) {
    await webExtension.alarms.create(badgeAlarm, { periodInMinutes: 1 })
  }
}

/** Reads the badge of a tab; undefined when its site is not allowed. */
async function readBadge(browser: Browser, tab: Tab): Promise<Badge | undefined> {
  const patterns = originPatterns(tab.url)
  if (patterns.length === 0 || !(await browser.mayRead(patterns, 'read'))) return undefined
  const settings = await browser.loadSettings()
  const profile = chooseProfile(allProfiles(settings, browser.builtInProfile), tab.url)
  // Pages are read on a click, not every minute.
  const reading = await readSessions({ ...browser, page: async () => 'refused' }, tab, profile)
  return badgeFor(reading, browser.now())
}

async function paint(tabId: number, badge: Badge | undefined): Promise<void> {
  const { action } = webExtension
  const { text = '', tone = 'none', minutes } = badge ?? {}
  if (tone !== 'none') {
    await action.setBadgeBackgroundColor({ tabId, color: colours[tone] })
    await action.setBadgeTextColor({ tabId, color: '#ffffff' })
  }
  await action.setBadgeText({ tabId, text })
  await action.setTitle({ tabId, title: describe(tone, minutes) })
}

function describe(tone: Badge['tone'], minutes: number | undefined): string {
  if (tone === 'over') return translate('badge_over')
  return minutes === undefined ? translate('extensionName') : translate('badge_minutes', String(minutes))
}
