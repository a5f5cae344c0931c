// The name of a currency in the language of the page. English pages show its code. A project may pay in something that is not a currency.
const EVERYDAY = { ja: { JPY: "円", KRW: "ウォン" }, ko: { KRW: "원", JPY: "엔" } }; // the browser's names are official: 日本円, 대한민국 원

export function currencyName(code, language) {
  if (language === "en") return code;
  if (EVERYDAY[language]?.[code]) return EVERYDAY[language][code];
  try { return new Intl.DisplayNames([language], { type: "currency" }).of(code) ?? code; } catch { return code; }
}
