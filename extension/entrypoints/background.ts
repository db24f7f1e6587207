import { defineBackground } from 'wxt/utils/define-background'
import { resumePopup } from '../background/resume.ts'
import { createBrowser } from '../platform/browser.ts'
import { webExtension } from '../platform/web-extension.ts'

export default defineBackground({
  // Runs synchronously at start: only listeners registered then receive the event that woke the script.
  main() {
    const browser = createBrowser()
    webExtension.permissions.onAdded.addListener(() => void resumePopup(browser))
  },
})
