package analytics

import (
	"encoding/json"
	"net"
)

// Context describes the circumstances of a call, such as device and address, not attributes of the user. Fields without a value are not
// sent.
type Context struct {
	App       AppInfo      `json:"app,omitempty"`
	Campaign  CampaignInfo `json:"campaign,omitempty"`
	Device    DeviceInfo   `json:"device,omitempty"`
	Library   LibraryInfo  `json:"library,omitempty"`
	Location  LocationInfo `json:"location,omitempty"`
	Network   NetworkInfo  `json:"network,omitempty"`
	OS        OSInfo       `json:"os,omitempty"`
	Page      PageInfo     `json:"page,omitempty"`
	Referrer  ReferrerInfo `json:"referrer,omitempty"`
	Screen    ScreenInfo   `json:"screen,omitempty"`
	IP        net.IP       `json:"ip,omitempty"`
	Direct    bool         `json:"direct,omitempty"`
	Locale    string       `json:"locale,omitempty"`
	GroupID   string       `json:"groupId,omitempty"`
	Timezone  string       `json:"timezone,omitempty"`
	UserAgent string       `json:"userAgent,omitempty"`
	Traits    Traits       `json:"traits,omitempty"`

	// Extra has further keys of the context. The other fields win.
	Extra map[string]interface{} `json:"-"`
}

// MarshalJSON writes the fields that have a value, and Extra beside them.
func (ctx Context) MarshalJSON() ([]byte, error) { return json.Marshal(ctx.fields()) }

// fields returns the context as it is sent; nil for a nil context.
func (ctx *Context) fields() map[string]any {
	if ctx == nil {
		return nil
	}
	fields := make(map[string]any, len(ctx.Extra)+4)
	for name, value := range ctx.Extra {
		fields[name] = value
	}
	put(fields, "app", ctx.App)
	put(fields, "campaign", ctx.Campaign)
	put(fields, "device", ctx.Device)
	put(fields, "library", ctx.Library)
	put(fields, "location", ctx.Location)
	put(fields, "network", ctx.Network)
	put(fields, "os", ctx.OS)
	put(fields, "page", ctx.Page)
	put(fields, "referrer", ctx.Referrer)
	put(fields, "screen", ctx.Screen)
	put(fields, "direct", ctx.Direct)
	put(fields, "locale", ctx.Locale)
	put(fields, "groupId", ctx.GroupID)
	put(fields, "timezone", ctx.Timezone)
	put(fields, "userAgent", ctx.UserAgent)
	if len(ctx.IP) > 0 {
		fields["ip"] = ctx.IP
	}
	if len(ctx.Traits) > 0 {
		fields["traits"] = ctx.Traits
	}
	return fields
}

func put[T comparable](fields map[string]any, name string, value T) {
	var unset T
	if value != unset {
		fields[name] = value
	}
}

// AppInfo describes the app.
type AppInfo struct {
	Name      string `json:"name,omitempty"`
	Version   string `json:"version,omitempty"`
	Build     string `json:"build,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// CampaignInfo describes the campaign that brought the user.
type CampaignInfo struct {
	Name    string `json:"name,omitempty"`
	Source  string `json:"source,omitempty"`
	Medium  string `json:"medium,omitempty"`
	Term    string `json:"term,omitempty"`
	Content string `json:"content,omitempty"`
}

// DeviceInfo describes the device.
type DeviceInfo struct {
	Id            string `json:"id,omitempty"`
	Manufacturer  string `json:"manufacturer,omitempty"`
	Model         string `json:"model,omitempty"`
	Name          string `json:"name,omitempty"`
	Type          string `json:"type,omitempty"`
	Version       string `json:"version,omitempty"`
	AdvertisingID string `json:"advertisingId,omitempty"`
}

// LibraryInfo describes the library that made the call.
type LibraryInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// LocationInfo describes where the user is.
type LocationInfo struct {
	City      string  `json:"city,omitempty"`
	Country   string  `json:"country,omitempty"`
	Region    string  `json:"region,omitempty"`
	Latitude  float64 `json:"latitude,omitempty"`
	Longitude float64 `json:"longitude,omitempty"`
	Speed     float64 `json:"speed,omitempty"`
}

// NetworkInfo describes the network of the device.
type NetworkInfo struct {
	Bluetooth bool   `json:"bluetooth,omitempty"`
	Cellular  bool   `json:"cellular,omitempty"`
	WIFI      bool   `json:"wifi,omitempty"`
	Carrier   string `json:"carrier,omitempty"`
}

// OSInfo describes the operating system.
type OSInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// PageInfo describes the page.
type PageInfo struct {
	Hash     string `json:"hash,omitempty"`
	Path     string `json:"path,omitempty"`
	Referrer string `json:"referrer,omitempty"`
	Search   string `json:"search,omitempty"`
	Title    string `json:"title,omitempty"`
	URL      string `json:"url,omitempty"`
}

// ReferrerInfo describes what led the user here.
type ReferrerInfo struct {
	Type string `json:"type,omitempty"`
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	Link string `json:"link,omitempty"`
}

// ScreenInfo describes the screen of the device.
type ScreenInfo struct {
	Density int `json:"density,omitempty"`
	Width   int `json:"width,omitempty"`
	Height  int `json:"height,omitempty"`
}
