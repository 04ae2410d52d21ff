package analytics

import "time"

// Traits are attributes of a user or a group. The setters change the map and return it; make one with [NewTraits].
type Traits map[string]interface{}

// NewTraits returns an empty map.
func NewTraits() Traits { return Traits{} }

// Set sets any trait.
func (t Traits) Set(field string, value interface{}) Traits {
	t[field] = value
	return t
}

// SetAddress sets address.
func (t Traits) SetAddress(address string) Traits { return t.Set("address", address) }

// SetAge sets age.
func (t Traits) SetAge(age int) Traits { return t.Set("age", age) }

// SetAvatar sets avatar.
func (t Traits) SetAvatar(url string) Traits { return t.Set("avatar", url) }

// SetBirthday sets birthday.
func (t Traits) SetBirthday(date time.Time) Traits { return t.Set("birthday", date) }

// SetCreatedAt sets createdAt.
func (t Traits) SetCreatedAt(date time.Time) Traits { return t.Set("createdAt", date) }

// SetDescription sets description.
func (t Traits) SetDescription(desc string) Traits { return t.Set("description", desc) }

// SetEmail sets email.
func (t Traits) SetEmail(email string) Traits { return t.Set("email", email) }

// SetFirstName sets firstName.
func (t Traits) SetFirstName(firstName string) Traits { return t.Set("firstName", firstName) }

// SetGender sets gender.
func (t Traits) SetGender(gender string) Traits { return t.Set("gender", gender) }

// SetLastName sets lastName.
func (t Traits) SetLastName(lastName string) Traits { return t.Set("lastName", lastName) }

// SetName sets name.
func (t Traits) SetName(name string) Traits { return t.Set("name", name) }

// SetPhone sets phone.
func (t Traits) SetPhone(phone string) Traits { return t.Set("phone", phone) }

// SetTitle sets title.
func (t Traits) SetTitle(title string) Traits { return t.Set("title", title) }

// SetUsername sets username.
func (t Traits) SetUsername(username string) Traits { return t.Set("username", username) }

// SetWebsite sets website.
func (t Traits) SetWebsite(url string) Traits { return t.Set("website", url) }

// Properties describe an action, a page or a screen. The setters change the map and return it; make one with [NewProperties].
type Properties map[string]interface{}

// NewProperties returns an empty map.
func NewProperties() Properties { return Properties{} }

// Set sets any property.
func (p Properties) Set(name string, value interface{}) Properties {
	p[name] = value
	return p
}

// SetRevenue sets revenue.
func (p Properties) SetRevenue(revenue float64) Properties { return p.Set("revenue", revenue) }

// SetCurrency sets currency.
func (p Properties) SetCurrency(currency string) Properties { return p.Set("currency", currency) }

// SetValue sets value.
func (p Properties) SetValue(value float64) Properties { return p.Set("value", value) }

// SetPath sets path.
func (p Properties) SetPath(path string) Properties { return p.Set("path", path) }

// SetReferrer sets referrer.
func (p Properties) SetReferrer(referrer string) Properties { return p.Set("referrer", referrer) }

// SetTitle sets title.
func (p Properties) SetTitle(title string) Properties { return p.Set("title", title) }

// SetURL sets url.
func (p Properties) SetURL(url string) Properties { return p.Set("url", url) }

// SetName sets name.
func (p Properties) SetName(name string) Properties { return p.Set("name", name) }

// SetCategory sets category.
func (p Properties) SetCategory(category string) Properties { return p.Set("category", category) }

// SetSKU sets sku.
func (p Properties) SetSKU(sku string) Properties { return p.Set("sku", sku) }

// SetPrice sets price.
func (p Properties) SetPrice(price float64) Properties { return p.Set("price", price) }

// SetProductId sets id.
func (p Properties) SetProductId(id string) Properties { return p.Set("id", id) }

// SetOrderId sets orderId.
func (p Properties) SetOrderId(id string) Properties { return p.Set("orderId", id) }

// SetTotal sets total.
func (p Properties) SetTotal(total float64) Properties { return p.Set("total", total) }

// SetSubtotal sets subtotal.
func (p Properties) SetSubtotal(subtotal float64) Properties { return p.Set("subtotal", subtotal) }

// SetShipping sets shipping.
func (p Properties) SetShipping(shipping float64) Properties { return p.Set("shipping", shipping) }

// SetTax sets tax.
func (p Properties) SetTax(tax float64) Properties { return p.Set("tax", tax) }

// SetDiscount sets discount.
func (p Properties) SetDiscount(discount float64) Properties { return p.Set("discount", discount) }

// SetCoupon sets coupon.
func (p Properties) SetCoupon(coupon string) Properties { return p.Set("coupon", coupon) }

// SetProducts sets products.
func (p Properties) SetProducts(products ...Product) Properties { return p.Set("products", products) }

// SetRepeat sets repeat.
func (p Properties) SetRepeat(repeat bool) Properties { return p.Set("repeat", repeat) }

// Product is an element of the property products.
type Product struct {
	ID    string  `json:"id,omitempty"`
	SKU   string  `json:"sky,omitempty"` // as analytics-go spells it: receivers may read this key
	Name  string  `json:"name,omitempty"`
	Price float64 `json:"price"`
}

// Integrations turns destinations on and off by name. The setters change the map and return it; make one with [NewIntegrations].
type Integrations map[string]interface{}

// NewIntegrations returns an empty map.
func NewIntegrations() Integrations { return Integrations{} }

// EnableAll turns on all destinations, except those that are disabled by name.
func (i Integrations) EnableAll() Integrations { return i.Enable("all") }

// DisableAll turns off all destinations, except those that are enabled by name.
func (i Integrations) DisableAll() Integrations { return i.Disable("all") }

// Enable turns on a destination. The name of the webhooks is "Webhooks".
func (i Integrations) Enable(name string) Integrations { return i.Set(name, true) }

// Disable turns off a destination.
func (i Integrations) Disable(name string) Integrations { return i.Set(name, false) }

// Set sets the value of a destination: true, false, or options that also turn it on.
func (i Integrations) Set(name string, value interface{}) Integrations {
	i[name] = value
	return i
}
