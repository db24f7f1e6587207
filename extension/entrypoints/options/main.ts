import { SettingsPage } from '../../core/settings/settings-page.ts'
import { createSettingsBrowser } from '../../platform/settings-browser.ts'
import { translate } from '../../platform/translate.ts'
import { createSettingsScreen } from '../../ui/settings/screen.ts'

const page = new SettingsPage(createSettingsBrowser(), (view) => show(view))
const show = createSettingsScreen(document.body, translate, (action) => void page.act(action))

const start = (): void => void page.start(location.hash)
// The popup may request something else while the page is open.
addEventListener('hashchange', start)
start()
